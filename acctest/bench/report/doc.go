// Package report prints what a program measured, and whether it is within its
// budgets. It writes tables as plain text or as Markdown.
package report
