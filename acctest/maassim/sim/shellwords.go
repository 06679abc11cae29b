package sim

import "strings"

// token is a word of a script or an operator between words.
type token struct {
	text string
	op   bool // text is one of \n ; & && || | ( ) < > << (with body)
	body string
}

// scanner reads as much of the shell's grammar as a script needs that sets
// things up: quotes, here-documents, simple variables, operators.
type scanner struct {
	text string
	at   int
	vars map[string]string
	out  []token
	// here are the here-documents that begin after this line: where their
	// bodies go, and what ends them.
	here []struct {
		token int
		end   string
		tabs  bool
	}
}

// scanShell takes a script apart. Variables get the values that words of the
// form NAME=value gave them before; others are empty.
func scanShell(text string) []token {
	s := &scanner{text: strings.ReplaceAll(text, "\\\n", " "), vars: map[string]string{}}
	for s.at < len(s.text) {
		s.next()
	}
	s.out = append(s.out, token{text: "\n", op: true})
	return s.out
}

func (s *scanner) next() {
	switch c := s.text[s.at]; {
	case c == '\n':
		s.at++
		s.operator("\n")
		s.readHere()
	case c == ' ' || c == '\t' || c == '\r':
		s.at++
	case c == '#':
		s.at += lineEnd(s.text[s.at:])
	case strings.HasPrefix(s.text[s.at:], "<<<"):
		s.at += 3
		s.skipBlanks()
		word := s.word()
		s.out = append(s.out, token{text: "<<", op: true, body: word})
	case strings.HasPrefix(s.text[s.at:], "<<"):
		s.beginHere()
	case strings.IndexByte(";&|()<>", c) >= 0:
		n := 1
		if s.at+1 < len(s.text) && (s.text[s.at+1] == c || c == '>' && s.text[s.at+1] == '&' || c == '&' && s.text[s.at+1] == '>') {
			n = 2
		}
		op := s.text[s.at : s.at+n]
		s.at += n
		s.operator(op)
	default:
		s.addWord()
	}
}

func (s *scanner) operator(text string) { s.out = append(s.out, token{text: text, op: true}) }

func lineEnd(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

func (s *scanner) skipBlanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// addWord adds a word, and remembers what an assignment assigns.
func (s *scanner) addWord() {
	word := s.word()
	if name, value, found := strings.Cut(word, "="); found && isName(name) {
		s.vars[name] = value
	}
	s.out = append(s.out, token{text: word})
}

func isName(text string) bool {
	for i, r := range text {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return text != ""
}

// word reads one word without its quotes.
func (s *scanner) word() string {
	var b strings.Builder
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte(" \t\r\n;&|()<>", c) >= 0:
			return b.String()
		case c == '\'':
			s.at++
			n := strings.IndexByte(s.text[s.at:], '\'')
			if n < 0 {
				n = len(s.text) - s.at
			}
			b.WriteString(s.text[s.at : s.at+n])
			s.at = min(s.at+n+1, len(s.text))
		case c == '"':
			s.at++
			s.quoted(&b)
		case c == '\\' && s.at+1 < len(s.text):
			b.WriteByte(s.text[s.at+1])
			s.at += 2
		case c == '$':
			s.variable(&b)
		default:
			b.WriteByte(c)
			s.at++
		}
	}
	return b.String()
}

func (s *scanner) quoted(b *strings.Builder) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return
		case c == '\\' && s.at+1 < len(s.text) && strings.IndexByte("\"\\$`", s.text[s.at+1]) >= 0:
			b.WriteByte(s.text[s.at+1])
			s.at += 2
		case c == '$':
			s.variable(b)
		default:
			b.WriteByte(c)
			s.at++
		}
	}
}

// variable reads $NAME, ${NAME} or $(…), of which nothing comes.
func (s *scanner) variable(b *strings.Builder) {
	rest := s.text[s.at+1:]
	if strings.HasPrefix(rest, "(") {
		depth := 0
		for s.at++; s.at < len(s.text); s.at++ {
			switch s.text[s.at] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				s.at++
				return
			}
		}
		return
	}
	if inner, found := strings.CutPrefix(rest, "{"); found {
		name, _, whole := strings.Cut(inner, "}")
		if whole {
			s.at += len(name) + 3
			plain, missing, _ := strings.Cut(name, ":-")
			b.WriteString(or(s.vars[plain], missing))
			return
		}
	}
	n := 0
	for n < len(rest) && isName(rest[:n+1]) {
		n++
	}
	s.at += n + 1
	b.WriteString(s.vars[rest[:n]])
}

// beginHere notes a here-document; its body begins with the next line.
func (s *scanner) beginHere() {
	s.at += 2
	tabs := strings.HasPrefix(s.text[s.at:], "-")
	if tabs {
		s.at++
	}
	s.skipBlanks()
	end := s.word()
	s.here = append(s.here, struct {
		token int
		end   string
		tabs  bool
	}{len(s.out), end, tabs})
	s.operator("<<")
}

// readHere reads the bodies that the line before announced.
func (s *scanner) readHere() {
	for _, h := range s.here {
		var body strings.Builder
		for s.at < len(s.text) {
			n := lineEnd(s.text[s.at:])
			line := s.text[s.at : s.at+n]
			s.at = min(s.at+n+1, len(s.text))
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if strings.TrimRight(line, "\r") == h.end {
				break
			}
			body.WriteString(line + "\n")
		}
		s.out[h.token].body = body.String()
	}
	s.here = nil
}
