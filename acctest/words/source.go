package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"unicode"
)

// checkGo finds the meaningless names of a Go file, and the long sentences in
// its string literals. It skips the literals of tests.
func checkGo(name string, content []byte) ([]finding, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(node ast.Node, text string) finding {
		return finding{line: set.Position(node.Pos()).Line, text: text}
	}
	var findings []finding
	for _, declared := range declaredNames(file) {
		if why := declared.problem(); why != "" {
			findings = append(findings, at(declared.ident, why))
		}
	}
	if strings.HasSuffix(name, "_test.go") {
		return findings, nil
	}
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := literalText(node)
		if !ok {
			return true
		}
		for _, paragraph := range strings.Split(literal, "\n\n") {
			for _, problem := range sentenceProblems(paragraph) {
				if isProseLiteral(problem.sentence) {
					findings = append(findings, at(node, problem.text))
				}
			}
		}
		return false
	})
	return findings, nil
}

// literalText is the text of a string literal, or of a sum that contains one.
// An operand that is no literal counts as one word.
func literalText(node ast.Node) (string, bool) {
	switch node := node.(type) {
	case *ast.BasicLit:
		if node.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(node.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if node.Op != token.ADD {
			return "", false
		}
		left, isLeft := literalText(node.X)
		right, isRight := literalText(node.Y)
		if !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "value"
		}
		if !isRight {
			right = "value"
		}
		return left + right, true
	}
	return "", false
}

// isProseLiteral reports whether a literal is prose, not a script, template or
// query. Nine of ten of its words must consist of letters and punctuation.
func isProseLiteral(sentence string) bool {
	words, plain := strings.Fields(sentence), 0
	for _, word := range words {
		word = strings.Trim(word, "`'\"()[].,:;?!*")
		if strings.HasPrefix(word, "%") || !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("-'’_/.", r) }) {
			plain++
		}
	}
	return plain*10 >= len(words)*9
}

// declaredName is a name of a package: a function, a method, a type, a constant or a
// variable.
type declaredName struct {
	ident    *ast.Ident
	function bool // and no method
	method   bool
}

func declaredNames(file *ast.File) []declaredName {
	var names []declaredName
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			names = append(names, declaredName{d.Name, d.Recv == nil, d.Recv != nil})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, declaredName{ident: s.Name})
				case *ast.ValueSpec:
					for _, ident := range s.Names {
						names = append(names, declaredName{ident: ident})
					}
				}
			}
		}
	}
	return names
}

// problem says why the name says nothing, or nothing if it says something.
func (n declaredName) problem() string {
	name := n.ident.Name
	switch {
	case n.method && foreignMethods[name]:
		return ""
	case meaninglessNames[strings.ToLower(name)]:
		return fmt.Sprintf("the name %s says neither what it does nor what it is", name)
	case n.function && bareVerbs[strings.ToLower(name)]:
		return fmt.Sprintf("the function %s has a verb and no object: say what it acts on", name)
	}
	return ""
}
