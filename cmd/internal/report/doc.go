// Package report writes the results of a replay, or of an audit, as one HTML file.
//
// The file is complete: it loads no script, font or picture, so it can be mailed and opens without a
// network. The charts are SVG. A script adds hovering, sorting and saving of tables; without it,
// everything can still be read. Each chart has a table of its figures beside it, for readers who
// cannot see the chart or need the exact numbers.
package report
