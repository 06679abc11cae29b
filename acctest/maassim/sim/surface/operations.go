// Package surface knows every operation of MAAS's API 2.0 by version. For an operation
// that the simulator does not serve, it answers 501 with a message.
package surface

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
)

//go:embed operations.txt
var operationsText string

// Operation is one operation of MAAS's API.
type Operation struct {
	Method string
	Path   string // "machines/{system_id}/"
	Op     string // "" for the plain method

	first, last string
	removed     bool // answers 410 after VM hosts were removed
}

// String is the operation as the table and the answers name it.
func (o Operation) String() string {
	if o.Op == "" {
		return o.Method + " " + o.Path
	}
	return o.Method + " " + o.Path + " op=" + o.Op
}

// ExistsIn tells whether a version has the operation.
func (o Operation) ExistsIn(version string) bool {
	return versions.IsAtLeast(version, o.first) && versions.IsAtLeast(o.last, version)
}

// RemovedIn tells whether the operation answers 410 Gone in a version.
func (o Operation) RemovedIn(version string) bool {
	return o.removed && version == versions.WithoutVMHosts
}

// key is the same for one operation, whatever names its path's variables have.
func (o Operation) key() string { return keyOf(o.Method, o.Path, o.Op) }

func keyOf(method, path, op string) string { return method + " " + Shape(path) + " " + op }

var variablePattern = regexp.MustCompile(`\{[^}]*\}`)

// Shape is a path with unnamed variables: "machines/{}/".
func Shape(path string) string { return variablePattern.ReplaceAllString(path, "{}") }

// Operations lists MAAS's operations in the order of their paths.
func Operations() []Operation { return operations() }

var operations = sync.OnceValue(func() []Operation {
	var all []Operation
	for line := range strings.Lines(operationsText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		o, err := parseOperation(strings.Fields(line))
		if err != nil {
			panic(fmt.Sprintf("surface: operations.txt: %q: %v", line, err))
		}
		all = append(all, o)
	}
	return all
})

// parseOperation reads a line: method, path, op, versions, and optionally 410.
func parseOperation(fields []string) (Operation, error) {
	if len(fields) < 4 || len(fields) > 5 {
		return Operation{}, fmt.Errorf("%d fields", len(fields))
	}
	o := Operation{Method: fields[0], Path: fields[1], Op: strings.TrimPrefix(fields[2], "-"), removed: len(fields) == 5}
	if o.removed && fields[4] != "410" {
		return Operation{}, fmt.Errorf("%q is not 410", fields[4])
	}
	if fields[3] == "*" {
		o.first, o.last = versions.V34, versions.WithoutVMHosts
		return o, nil
	}
	var isSpan bool
	o.first, o.last, isSpan = strings.Cut(fields[3], "..")
	if !isSpan {
		o.last = o.first
	}
	if !versions.IsKnown(o.first) || !versions.IsKnown(o.last) {
		return Operation{}, fmt.Errorf("%q are not versions", fields[3])
	}
	return o, nil
}
