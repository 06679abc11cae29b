package main

import (
	"fmt"
	"strconv"
	"strings"
)

// numbers is a flag with positive numbers, separated by commas. An empty text
// is no number.
type numbers []int

// String writes the flag's value.
func (n *numbers) String() string {
	var words []string
	for _, number := range *n {
		words = append(words, strconv.Itoa(number))
	}
	return strings.Join(words, ",")
}

// Set reads the flag's value.
func (n *numbers) Set(text string) error {
	*n = nil
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		number, err := strconv.Atoi(word)
		if err != nil || number < 1 {
			return fmt.Errorf("%q is not a number of at least 1", word)
		}
		*n = append(*n, number)
	}
	return nil
}
