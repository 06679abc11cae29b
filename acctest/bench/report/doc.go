// Package report prints what a program measured, and whether it is within its
// budgets: tables as plain text or as Markdown.
package report
