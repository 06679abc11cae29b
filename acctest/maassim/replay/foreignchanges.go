package replay

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// uniquelyNamedCollections are the collections whose rows have a unique name.
var uniquelyNamedCollections = []string{"zones", "resourcepools", "tags", "domains", "spaces", "fabrics"}

// otherClients repeats changes that other clients made.
type otherClients struct{ *player }

// notFoundMessages are MAAS's messages about a machine or VM host that it does not have.
var notFoundMessages = map[nameSpace]*regexp.Regexp{
	"node": regexp.MustCompile(`^No (Machine|Node) matches the given query\.$`), "VM host": regexp.MustCompile(`^No Pod matches the given query\.$|^Not Found$`),
}

// applyForeignChanges makes or deletes objects that another client made or deleted. The
// answer to an exchange shows this.
func (p otherClients) applyForeignChanges(i int) {
	e := p.exchanges[i]
	route := e.Route()
	switch {
	case e.Request.Method == http.MethodPost && len(route) == 1 && e.Op() == "" && slices.Contains(uniquelyNamedCollections, route[0]):
		p.freeOrTakeName(i, route[0])
	case e.Response.Status == http.StatusNotFound && len(route) > 1:
		p.applyForeignDelete(e, route)
	}
}

// freeOrTakeName frees or takes the name that a request asks for, so that the answer is as
// recorded. It also uses up the ids that rows of other clients had.
func (p otherClients) freeOrTakeName(i int, collection string) {
	e, name := p.exchanges[i], p.exchanges[i].FormValues().Get("name")
	uri := p.uriOfNamed(collection, name)
	var text map[string][]string
	switch {
	case name == "":
	case e.OK() && uri != "":
		p.addNote("before %s: somebody deleted %s %s", e, collection, name)
		p.callMAAS(http.MethodDelete, strings.TrimPrefix(uri, recording.APIRoot), nil)
	case !e.OK() && uri == "" && decode(e, &text) && len(text["name"]) == 1 && strings.Contains(text["name"][0], "already exists"):
		p.addNote("before %s: somebody made %s %s", e, collection, name)
		p.callMAAS(http.MethodPost, collection+"/", url.Values{"name": {name}})
	}
	if o, ok := p.evidence.bodies[i].(map[string]any); ok && e.OK() && singlePaths[collection] != "" {
		p.useUpIDs(collection, numberOf(o["id"]))
	}
}

// singlePaths are the paths of one row, for the collections whose ids appear in other
// objects.
var singlePaths = map[string]string{"zones": "zones", "resourcepools": "resourcepool"}

// useUpIDs uses up all ids below a given one.
func (p otherClients) useUpIDs(collection string, until int) {
	if p.highestID[collection]+1 >= until {
		return
	}
	last := zoneOrPool{id: until - 1, name: fmt.Sprintf("before-%d", until)}
	worldStarter(p).makeZoneOrPool(last, collection, singlePaths[collection], p.highestID[collection]+1)
	p.tryCall(http.MethodDelete, strings.TrimPrefix(p.uriOfNamed(collection, last.name), recording.APIRoot), nil)
}

// uriOfNamed is the path of the row with a name. It is empty if there is none.
func (p otherClients) uriOfNamed(collection, name string) string {
	var all []struct {
		Name string
		URI  string `json:"resource_uri"`
	}
	decodeBody(p.tryCall(http.MethodGet, collection+"/", nil), &all)
	for _, o := range all {
		if o.Name == name {
			return o.URI
		}
	}
	return ""
}

// applyForeignDelete deletes a machine or VM host that MAAS no longer has although no
// recorded request deleted it.
func (p otherClients) applyForeignDelete(e recording.Exchange, route []string) {
	var text string
	in := collections[route[0]]
	said := notFoundMessages[in]
	simulated, bound := p.match.simulatedOf[in][route[1]]
	if !bound || said == nil || !decode(e, &text) || !said.MatchString(text) {
		return
	}
	path := route[0] + "/" + simulated + "/"
	if p.tryCall(http.MethodGet, path, nil).Status != http.StatusOK {
		return
	}
	p.addNote("before %s: somebody deleted %s %s", e, route[0], route[1])
	p.callMAAS(http.MethodDelete, path, nil)
}

// noteHighestID remembers the id of a row that a request made.
func (p otherClients) noteHighestID(e recording.Exchange, got simResponse) {
	var made struct{ ID int }
	if route := e.Route(); e.Request.Method == http.MethodPost && len(route) == 1 && singlePaths[route[0]] != "" && decodeBody(got, &made) {
		p.highestID[route[0]] = max(p.highestID[route[0]], made.ID)
	}
}
