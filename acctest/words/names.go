package main

import (
	_ "embed"
	"strings"
)

//go:embed names.txt
var namesList string

var meaninglessNames, bareVerbs = readNames(namesList)

// foreignMethods are methods that interfaces of other packages demand.
var foreignMethods = map[string]bool{
	"Is": true, "As": true, // for errors.Is and errors.As
	"Do":      true, // an HTTP client
	"Less":    true, // sort.Interface
	"Enabled": true, // slog.Handler
}

// readNames reads the list. It begins with words that are no name on their own.
// Behind the line "[functions]" are verbs that are no function's name. A method
// may have one, because its receiver is the object.
func readNames(list string) (words, verbs map[string]bool) {
	words, verbs = map[string]bool{}, map[string]bool{}
	into := words
	for line := range strings.Lines(list) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if line == "[functions]" {
			into = verbs
			continue
		}
		for word := range strings.FieldsSeq(line) {
			into[word] = true
		}
	}
	return words, verbs
}
