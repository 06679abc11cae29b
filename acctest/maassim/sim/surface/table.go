package surface

import (
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
)

// tableHead is the text before the table of operations.
const tableHead = `# Operations of MAAS's API 2.0

Generated from the routes of the simulator by ` + "`make generate`" + `: do not edit. The operations are those of
[operations.txt](sim/surface/operations.txt), which names its sources.

- **served**: answered from the simulated world.
- **501**: answered *501 Not Implemented* with a message that names the operation.
- *Versions* are the versions of MAAS that have the operation. In others its path is 404, its method 405 or its op 400, as in MAAS.
- **410** in *gone* is *410 Gone*: MAAS keeps the path to say that VM hosts were removed.

| operation | answer | versions |
|---|---|---|
`

// Table is the table of operations as Markdown.
func (r *Router) Table() string {
	var b strings.Builder
	b.WriteString(tableHead)
	for _, o := range Operations() {
		answer := "501"
		if r.IsServed(o) {
			answer = "served"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o, answer, o.versionSpan())
	}
	return b.String()
}

// versionSpan are the versions that have the operation.
func (o Operation) versionSpan() string {
	text := o.first + " to " + o.last
	switch {
	case o.first == versions.V34 && o.last == versions.WithoutVMHosts:
		text = "all"
	case o.last == versions.WithoutVMHosts:
		text = "from " + o.first
	case o.first == o.last:
		text = o.first
	}
	if o.removed {
		text += "; gone: 410"
	}
	return text
}
