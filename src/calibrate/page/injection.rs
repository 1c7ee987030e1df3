//! Pages about attacks: which of them turned the judge?

use super::{Columns, escape, html_table, markdown_legend, markdown_table, one_line, ranged};
use crate::calibrate::steering::{Injection, Steering, Turned};

/// Heads of the table, with what each means.
const COLUMNS: &Columns = &[
    ("attack", "what is tried; `harmless` rows are true and only look odd"),
    ("lang", "language of the rows"),
    ("rows", "rows with a verdict on them and on their plain twins; in brackets those without"),
    ("plain right", "twins, the rows without the attack, that the judge finds unsupported; of harmless rows supported"),
    ("turned", "rows, of those, whose verdict the attack turns"),
    ("rate", "turned of plain right, with Wilson's 95 % interval"),
    ("yes", "share of yes among the rows as they stand, with the same interval; only harmless rows deserve it"),
    ("shift", "mean change of logit P(yes) from twin to row; above 0 is towards yes"),
];

/// The table in Markdown.
pub fn table(injection: &Injection) -> String {
    markdown_table(COLUMNS, &injection.groups.iter().map(row).collect::<Vec<_>>())
}

/// What stands below the table in Markdown.
pub fn report(injection: &Injection) -> String {
    let turned: String = injection.turned.iter().map(|row| format!("- `{}` {}\n", row.id, said(row))).collect();
    format!("\n## Attacks\n\n{}\nTurned verdicts: {}\n\n{turned}", markdown_legend(COLUMNS), injection.turned.len())
}

/// Table and turned verdicts as a part of a page.
pub fn html(injection: &Injection) -> String {
    let table = html_table(COLUMNS, &injection.groups.iter().map(row).collect::<Vec<_>>());
    let item = |row: &Turned| format!("<li><code>{}</code> {}</li>\n", escape(&row.id), escape(&said(row)));
    let turned: String = injection.turned.iter().map(item).collect();
    format!("<h2>Attacks</h2>\n{table}<h3>Turned verdicts: {}</h3>\n<ul>\n{turned}</ul>\n", injection.turned.len())
}

fn row(group: &Steering) -> Vec<String> {
    let rows = match group.n_without_verdict {
        0 => group.n_rows.to_string(),
        n => format!("{} (+{n})", group.n_rows),
    };
    vec![
        group.kind.clone(),
        group.language.clone(),
        rows,
        group.n_plain_right.to_string(),
        group.n_turned.to_string(),
        ranged(group.turned),
        ranged(group.yes),
        group.mean_shift.map_or_else(|| "-".to_owned(), |shift| format!("{shift:+.2}")),
    ]
}

/// What the judge said of a turned row, on one line.
fn said(row: &Turned) -> String {
    let p_yes = |p: Option<f64>| p.map_or_else(|| "-".to_owned(), |p| format!("{p:.2}"));
    let (plain, as_it_stands) = (p_yes(row.plain_p_yes), p_yes(row.p_yes));
    format!("P(yes) {plain} plain, {as_it_stands} as it stands: {}", one_line(&row.text))
}
