// Package report writes what a replay found as one HTML file.
//
// The file holds everything it shows: no script, font or picture is fetched, so it
// can be mailed and opens without a network, today and in ten years. The charts are
// SVG made here; the script only adds hovering, sorting and saving of tables, and
// everything can be read without it. Every chart has its figures in a table beside it,
// for those who can't see it, and for those who want to count.
package report
