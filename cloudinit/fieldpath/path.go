// Package fieldpath names a place in a description, such as the pool of the disk "root".
// Errors carry such paths. Each front end turns them into its own form: an attribute, a
// field of an object, a flag. So no front end must parse a text.
package fieldpath

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Step is one step of a path: a Name, a Key or an Index.
type Step interface {
	// text returns the step as text; first says that it is the first step.
	text(first bool) string
}

// Name is a field of the description: "disks".
type Name string

// Key is a key of a map that the user has chosen: "root". It may contain dots.
type Key string

// Index is a position in a list, from 0.
type Index int

func (n Name) text(first bool) string {
	if first {
		return string(n)
	}
	return "." + string(n)
}

// plainKeyPattern matches a key that needs no quotes in a text.
var plainKeyPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (k Key) text(first bool) string {
	if plainKeyPattern.MatchString(string(k)) {
		return Name(k).text(first)
	}
	return "[" + strconv.Quote(string(k)) + "]"
}

func (i Index) text(bool) string { return "[" + strconv.Itoa(int(i)) + "]" }

// Path is a chain of steps. The empty path is the whole description.
type Path struct{ steps []Step }

// New returns the path of names: New("deploy", "image") is deploy.image.
func New(names ...string) Path { return Path{}.Child(names...) }

// Child returns the path of fields below this one, each below the one before.
func (p Path) Child(names ...string) Path {
	for _, name := range names {
		p = p.appendSteps(Name(name))
	}
	return p
}

// Key returns the path of the map element with this key.
func (p Path) Key(key string) Path { return p.appendSteps(Key(key)) }

// Index returns the path of the list element at position n.
func (p Path) Index(n int) Path { return p.appendSteps(Index(n)) }

// Join returns this path followed by the other one.
func (p Path) Join(other Path) Path { return p.appendSteps(other.steps...) }

func (p Path) appendSteps(more ...Step) Path { return Path{slices.Concat(p.steps, more)} }

// Steps returns the steps from the outside in.
func (p Path) Steps() []Step { return slices.Clone(p.steps) }

// IsEmpty reports whether this is the path of the whole description.
func (p Path) IsEmpty() bool { return len(p.steps) == 0 }

// Parent returns the path without its last step. The parent of the empty path is the empty
// path.
func (p Path) Parent() Path { return Path{slices.Clone(p.steps[:max(0, len(p.steps)-1)])} }

// Equal reports whether both paths have the same steps.
func (p Path) Equal(other Path) bool { return slices.Equal(p.steps, other.steps) }

// RootName returns the outermost field; empty for the empty path.
func (p Path) RootName() string { return p.nameAt(0) }

// LastName returns the innermost field or key. It is empty for an element of a list and for
// the empty path.
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

// CutPrefix returns the path without the outer path. found reports whether the path equals
// outer or is below it.
func (p Path) CutPrefix(outer Path) (rest Path, found bool) {
	n := len(outer.steps)
	if len(p.steps) < n || !slices.Equal(p.steps[:n], outer.steps) {
		return p, false
	}
	return Path{slices.Clone(p.steps[n:])}, true
}

// String returns the path for people: disks.root.pool, config["limits.cpu"],
// links[0].subnet.
func (p Path) String() string {
	var text strings.Builder
	for n, step := range p.steps {
		text.WriteString(step.text(n == 0))
	}
	return text.String()
}
