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

// uniquelyNamed are the collections whose rows have a unique name.
var uniquelyNamed = []string{"zones", "resourcepools", "tags", "domains", "spaces", "fabrics"}

// others makes and deletes what somebody else did.
type others struct{ *player }

// noObject is what MAAS says where there is no such machine, or VM host.
var noObject = map[space]*regexp.Regexp{
	"node": regexp.MustCompile(`^No (Machine|Node) matches the given query\.$`), "VM host": regexp.MustCompile(`^No Pod matches the given query\.$|^Not Found$`),
}

// sayWhatOthersDid makes or deletes objects that somebody else made or deleted, as
// the answer to an exchange tells.
func (p others) sayWhatOthersDid(i int) {
	e := p.exchanges[i]
	route := e.Route()
	switch {
	case e.Request.Method == http.MethodPost && len(route) == 1 && e.Op() == "" && slices.Contains(uniquelyNamed, route[0]):
		p.makeRoom(i, route[0])
	case e.Response.Status == http.StatusNotFound && len(route) > 1:
		p.sayDeleted(e, route)
	}
}

// makeRoom lets a name be free, or taken, as it was when a request wanted it, and
// the ids be used up that rows of others had.
func (p others) makeRoom(i int, collection string) {
	e, name := p.exchanges[i], p.exchanges[i].FormValues().Get("name")
	uri := p.uriOfNamed(collection, name)
	var text map[string][]string
	switch {
	case name == "":
	case e.OK() && uri != "":
		p.note("before %s: somebody deleted %s %s", e, collection, name)
		p.call(http.MethodDelete, strings.TrimPrefix(uri, recording.APIRoot), nil)
	case !e.OK() && uri == "" && decode(e, &text) && len(text["name"]) == 1 && strings.Contains(text["name"][0], "already exists"):
		p.note("before %s: somebody made %s %s", e, collection, name)
		p.call(http.MethodPost, collection+"/", url.Values{"name": {name}})
	}
	if o, ok := p.found.bodies[i].(map[string]any); ok && e.OK() && singles[collection] != "" {
		p.useIDs(collection, numberOf(o["id"]))
	}
}

// singles are the paths of one row of the collections whose ids clients see in
// other objects.
var singles = map[string]string{"zones": "zones", "resourcepools": "resourcepool"}

// useIDs uses up the ids before one.
func (p others) useIDs(collection string, until int) {
	if p.highest[collection]+1 >= until {
		return
	}
	last := place{id: until - 1, name: fmt.Sprintf("before-%d", until)}
	starter(p).makePlace(last, collection, singles[collection], p.highest[collection]+1)
	p.try(http.MethodDelete, strings.TrimPrefix(p.uriOfNamed(collection, last.name), recording.APIRoot), nil)
}

// uriOfNamed is where the row of a name is, empty if there is none.
func (p others) uriOfNamed(collection, name string) string {
	var all []struct {
		Name string
		URI  string `json:"resource_uri"`
	}
	decodeBody(p.try(http.MethodGet, collection+"/", nil), &all)
	for _, o := range all {
		if o.Name == name {
			return o.URI
		}
	}
	return ""
}

// sayDeleted deletes a machine or VM host that MAAS says it does not have, and that
// no request deleted.
func (p others) sayDeleted(e recording.Exchange, route []string) {
	var text string
	in := collections[route[0]]
	said := noObject[in]
	simulated, bound := p.match.bound[in][route[1]]
	if !bound || said == nil || !decode(e, &text) || !said.MatchString(text) {
		return
	}
	path := route[0] + "/" + simulated + "/"
	if p.try(http.MethodGet, path, nil).Status != http.StatusOK {
		return
	}
	p.note("before %s: somebody deleted %s %s", e, route[0], route[1])
	p.call(http.MethodDelete, path, nil)
}

// learnID keeps the id of a row that a request made.
func (p others) learnID(e recording.Exchange, got served) {
	var made struct{ ID int }
	if route := e.Route(); e.Request.Method == http.MethodPost && len(route) == 1 && singles[route[0]] != "" && decodeBody(got, &made) {
		p.highest[route[0]] = max(p.highest[route[0]], made.ID)
	}
}
