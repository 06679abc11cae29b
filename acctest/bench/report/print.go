package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Grid is a table for people.
type Grid struct {
	Title string
	Head  []string
	Rows  [][]string // as wide as Head
}

// Printer writes a grid.
type Printer func(io.Writer, Grid)

// NoValue stands where a measure has no meaning.
const NoValue = "–"

// PlainText writes a grid with aligned columns.
func PlainText(out io.Writer, g Grid) {
	fmt.Fprintf(out, "\n%s\n", strings.ToUpper(g.Title))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(g.Head, "\t"))
	for _, row := range g.Rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	table.Flush()
}

// Markdown writes a grid as Markdown. Routes, which have braces, become code.
func Markdown(out io.Writer, g Grid) {
	fmt.Fprintf(out, "\n**%s**\n\n", g.Title)
	line := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	line(g.Head)
	line(strings.Split(strings.Repeat("---,", len(g.Head)-1)+"---", ","))
	for _, row := range g.Rows {
		cells := append([]string{}, row...)
		if strings.Contains(cells[0], "/") {
			cells[0] = "`" + cells[0] + "`"
		}
		line(cells)
	}
}
