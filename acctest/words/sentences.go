package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// maxSentenceWords is the most words of a sentence. Writers aim at 25. Above
// 30, a reader with another first language begins the sentence again.
const maxSentenceWords = 30

// checkMarkdown finds the long sentences of a page. It skips code blocks, and
// counts inline code as one word.
func checkMarkdown(page []byte) []finding {
	page = blankFrontMatter(page)
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	var findings []finding
	_ = ast.Walk(markdown.Parser().Parse(text.NewReader(page)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || !isProse(node) {
			return ast.WalkContinue, nil
		}
		for _, problem := range sentenceProblems(inlineText(node, page)) {
			findings = append(findings, finding{line: lineOf(node, page), text: problem.text})
		}
		return ast.WalkSkipChildren, nil
	})
	return findings
}

// blankFrontMatter replaces the header of a page, between two lines "---", by
// empty lines.
func blankFrontMatter(page []byte) []byte {
	if !bytes.HasPrefix(page, []byte("---\n")) {
		return page
	}
	end := bytes.Index(page[4:], []byte("\n---\n"))
	if end < 0 {
		return page
	}
	header := page[:4+end+5]
	return append(bytes.Repeat([]byte("\n"), bytes.Count(header, []byte("\n"))), page[len(header):]...)
}

// isProse reports whether the node has text of its own and no further blocks.
func isProse(node ast.Node) bool {
	return node.Type() == ast.TypeBlock && node.FirstChild() != nil && node.FirstChild().Type() == ast.TypeInline
}

// inlineText is the text of a block without markup. Inline code becomes the
// word "code".
func inlineText(node ast.Node, page []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			if entering {
				b.WriteString("code")
			}
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			if entering {
				b.WriteString("address")
			}
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(page))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// lineOf is the number of the block's first line.
func lineOf(node ast.Node, page []byte) int {
	start := -1
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			start = t.Segment.Start
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return 1 + bytes.Count(page[:max(start, 0)], []byte("\n"))
}

// sentenceProblem is a sentence that a reader must read twice, and why.
type sentenceProblem struct{ sentence, text string }

// sentenceProblems are the sentences of a paragraph that are too long, or that
// begin with a relative clause.
func sentenceProblems(paragraph string) []sentenceProblem {
	var problems []sentenceProblem
	for _, words := range splitSentences(paragraph) {
		sentence := strings.Join(words, " ")
		if count := countWords(words); count > maxSentenceWords {
			problems = append(problems, sentenceProblem{sentence, fmt.Sprintf("a sentence of %d words: %s", count, sentence)})
		}
		if beginsWithRelativeClause(words) {
			problems = append(problems, sentenceProblem{sentence, "a sentence without its subject in front: " + sentence})
		}
	}
	return problems
}

// relativePronouns begin sentences such as "What is not done by then is gone on with".
// A question may begin with them.
var relativePronouns = []string{"What", "Who", "Whoever", "Whatever", "Whose", "Whichever"}

func beginsWithRelativeClause(sentence []string) bool {
	return len(sentence) > 1 && slices.Contains(relativePronouns, sentence[0]) && strings.HasSuffix(sentence[len(sentence)-1], ".")
}

// splitSentences splits a text after each word that ends with a full stop, a
// question mark or an exclamation mark. It does not split where the next word
// begins with a small letter.
func splitSentences(paragraph string) [][]string {
	var sentences [][]string
	var current []string
	words := strings.Fields(paragraph)
	for i, word := range words {
		current = append(current, word)
		if !endsSentence(word) || i+1 < len(words) && unicode.IsLower([]rune(words[i+1])[0]) && !strings.HasPrefix(words[i+1], "code") {
			continue
		}
		sentences, current = append(sentences, current), nil
	}
	return append(sentences, current)
}

// abbreviations end with a full stop but do not end a sentence.
var abbreviations = []string{"e.g.", "i.e.", "etc.", "cf.", "vs."}

func endsSentence(word string) bool {
	word = strings.TrimRight(word, `)"'*_”’`)
	for _, abbreviation := range abbreviations {
		if strings.HasSuffix(word, abbreviation) {
			return false
		}
	}
	return strings.HasSuffix(word, ".") || strings.HasSuffix(word, "?") || strings.HasSuffix(word, "!")
}

// countWords counts the words that have a letter or a digit, so not a dash.
func countWords(sentence []string) int {
	count := 0
	for _, word := range sentence {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			count++
		}
	}
	return count
}
