// Package fieldpath says where in a description something stands, such as the pool of the
// disk "root". Errors carry such paths, and each front end turns them into its own: an
// attribute, a field of an object, a flag. Nobody has to take a text apart.
package fieldpath

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Step is one step of a path: a Name, a Key or an Index.
type Step interface {
	// text is the step as it stands in a text; first tells that nothing is before it.
	text(first bool) string
}

// Name is a field that the description's form has: "disks".
type Name string

// Key is a key of a map, which the user has chosen: "root". It may have dots.
type Key string

// Index is a place in a list, from 0.
type Index int

func (n Name) text(first bool) string {
	if first {
		return string(n)
	}
	return "." + string(n)
}

// plainKeyPattern is a key that can be told from what is around it without quotes.
var plainKeyPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (k Key) text(first bool) string {
	if plainKeyPattern.MatchString(string(k)) {
		return Name(k).text(first)
	}
	return "[" + strconv.Quote(string(k)) + "]"
}

func (i Index) text(bool) string { return "[" + strconv.Itoa(int(i)) + "]" }

// Path is a chain of steps. The empty one is the whole description.
type Path struct{ steps []Step }

// New is the path of names: Of("deploy", "image") is deploy.image.
func New(names ...string) Path { return Path{}.Child(names...) }

// Child is the path of fields below this one, each below the one before.
func (p Path) Child(names ...string) Path {
	for _, name := range names {
		p = p.appendSteps(Name(name))
	}
	return p
}

// Key is the path of what a map holds under the key.
func (p Path) Key(key string) Path { return p.appendSteps(Key(key)) }

// Index is the path of an element of a list.
func (p Path) Index(n int) Path { return p.appendSteps(Index(n)) }

// Join is the path of what stands at the other path, seen from this one.
func (p Path) Join(other Path) Path { return p.appendSteps(other.steps...) }

func (p Path) appendSteps(more ...Step) Path { return Path{slices.Concat(p.steps, more)} }

// Steps are the steps from the outside in.
func (p Path) Steps() []Step { return slices.Clone(p.steps) }

// IsEmpty tells whether it is the path of the whole.
func (p Path) IsEmpty() bool { return len(p.steps) == 0 }

// Parent is the path one step further out; that of the empty path is empty.
func (p Path) Parent() Path { return Path{slices.Clone(p.steps[:max(0, len(p.steps)-1)])} }

// Equal tells whether both are the same place.
func (p Path) Equal(other Path) bool { return slices.Equal(p.steps, other.steps) }

// RootName is the outermost field, empty for the whole.
func (p Path) RootName() string { return p.nameAt(0) }

// LastName is the innermost field or key; empty for an element of a list, and for the whole.
func (p Path) LastName() string { return p.nameAt(len(p.steps) - 1) }

func (p Path) nameAt(n int) string {
	if n < 0 || n >= len(p.steps) {
		return ""
	}
	switch step := p.steps[n].(type) {
	case Name:
		return string(step)
	case Key:
		return string(step)
	}
	return ""
}

// CutPrefix is the path as seen from an outer one. found tells whether it is below that,
// or the same.
func (p Path) CutPrefix(outer Path) (rest Path, found bool) {
	n := len(outer.steps)
	if len(p.steps) < n || !slices.Equal(p.steps[:n], outer.steps) {
		return p, false
	}
	return Path{slices.Clone(p.steps[n:])}, true
}

// String is the path for people: disks.root.pool, config["limits.cpu"], links[0].subnet.
func (p Path) String() string {
	var text strings.Builder
	for n, step := range p.steps {
		text.WriteString(step.text(n == 0))
	}
	return text.String()
}
