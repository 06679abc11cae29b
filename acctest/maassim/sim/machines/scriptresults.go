package machines

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/script"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// resultRoutes are the operations on the results of a machine's scripts
// (api/scriptresults.py).
var resultRoutes = []request.Route{
	{Method: http.MethodGet, Path: "nodes/{id}/results/", Handle: onNode(listResults)},
	{Method: http.MethodGet, Path: "nodes/{id}/results/{set}/", Handle: onNode(readResults)},
}

// onNode is request.OnMachine for users who may see the machine. MAAS calls it a node in
// the path.
func onNode(f func(*request.Call, *world.Machine) rest.Reply) func(*request.Call) rest.Reply {
	seen := request.OnMachine(request.ViewAll, f)
	return func(c *request.Call) rest.Reply {
		if c.World.Machines[c.Vars["id"]] == nil {
			return rest.NoObjectReply("Node")
		}
		return seen(c)
	}
}

// listResults lists the script sets of a machine with their results.
func listResults(c *request.Call, m *world.Machine) rest.Reply {
	kind, bad := readResultType(c)
	if bad == nil {
		bad = checkHardwareType(c)
	}
	if bad != nil {
		return *bad
	}
	sets := []rest.Object{}
	for _, s := range m.Scripts {
		if kind == nil || *kind == s.Kind {
			sets = append(sets, viewSet(c, m, s))
		}
	}
	return rest.OKReply(sets)
}

// kindWords are the names of script kinds in a query (models/scriptset.py,
// translate_result_type).
var kindWords = map[string]script.Kind{
	"test": script.Testing, "testing": script.Testing, "commission": script.Commissioning, "commissioning": script.Commissioning,
	"install": script.Installation, "installation": script.Installation, "release": script.Release,
}

// readResultType is the kind in a query, or nil for all. Since MAAS 3.5 releases run
// scripts, too.
func readResultType(c *request.Call) (*script.Kind, *rest.Reply) {
	text := c.Query.Get("type")
	if text == "" {
		return nil, nil
	}
	newest, wrong := script.Release, "Invalid result type name"
	if !versions.IsAtLeast(c.World.Version, versions.V35) {
		newest, wrong = script.Testing, "Result type must be commissioning, testing, or installation."
	}
	kind, known := kindWords[text]
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		kind, known, wrong = script.Kind(n), true, "Invalid result type numeric value."
	}
	if !known || kind > newest {
		rep := rest.BadTextReply(wrong)
		return nil, &rep
	}
	return &kind, nil
}

// hardwareWords are the types of hardware that a script may be for (models/script.py,
// translate_hardware_type). The value tells whether they mean disks.
var hardwareWords = map[string]bool{
	"node": false, "machine": false, "controller": false, "other": false, "generic": false, "cpu": false, "processor": false, "memory": false,
	"ram": false, "storage": true, "disk": true, "ssd": true, "network": false, "net": false, "interface": false, "gpu": false, "graphics": false,
	"0": false, "1": false, "2": false, "3": true, "4": false, "5": false,
}

func checkHardwareType(c *request.Call) *rest.Reply {
	text := strings.ToLower(c.Query.Get("hardware_type"))
	if _, known := hardwareWords[text]; known || text == "" {
		return nil
	}
	rep := rest.BadTextReply("Hardware type must be node, cpu, memory, storage, or gpu")
	return &rep
}

// readResults is one set: by its id, or the current one.
func readResults(c *request.Call, m *world.Machine) rest.Reply {
	name := c.Vars["set"]
	current, isWord := map[string]int{
		"current-commissioning": m.CommissioningSet, "current-testing": m.TestingSet, "current-installation": m.InstallationSet,
	}[name]
	id, err := strconv.Atoi(name)
	switch {
	case isWord && current == 0:
		return rest.BadTextReply(fmt.Sprintf("No %s script set exists for this node.", strings.ReplaceAll(name, "-", " ")))
	case isWord:
		id = current
	case err != nil || id < 0:
		return rest.BadTextReply(fmt.Sprintf(`Unknown id "%s" must be current-commissioning, current-testing, current-installation, or the id number of a specific result.`, name))
	}
	s := script.FindSet(m.Scripts, id)
	if s == nil {
		return rest.NoObjectReply("ScriptSet")
	}
	if bad := checkHardwareType(c); bad != nil {
		return *bad
	}
	return rest.OKReply(viewSet(c, m, s))
}

func viewSet(c *request.Call, m *world.Machine, s *script.Set) rest.Object {
	results := []rest.Object{}
	var began, ended time.Time
	for _, r := range s.SortedResults() {
		if began.IsZero() || r.Created.Before(began) {
			began = r.Created
		}
		if r.Ended.After(ended) {
			ended = r.Ended
		}
		if matchesResultQuery(c, r) {
			results = append(results, viewResult(c, m, r))
		}
	}
	if s.Status() == script.StatusPending {
		ended = time.Time{}
	}
	return rest.Object{
		"id": s.ID, "system_id": m.SystemID, "type": s.Kind, "type_name": s.Kind.String(), "last_ping": nil,
		"status": s.Status(), "status_name": s.Status().String(), "started": timeOrNull(began), "ended": timeOrNull(ended),
		"runtime": formatRuntime(began, ended), "results": results, "suppressed": false,
		"resource_uri": rest.APIRoot + fmt.Sprintf("nodes/%s/results/%d/", m.SystemID, s.ID),
	}
}

// matchesResultQuery compares a result with the query's names, tags and ids.
func matchesResultQuery(c *request.Call, r *script.Result) bool {
	filters := c.Query.Get("filters")
	if filters != "" && !slices.ContainsFunc(strings.Split(filters, ","), func(f string) bool { return f == r.Name || f == strconv.Itoa(r.ID) }) {
		return false
	}
	hardware := strings.ToLower(c.Query.Get("hardware_type"))
	return hardware == "" || hardwareWords[hardware] == (r.Disk != "")
}

func viewResult(c *request.Call, m *world.Machine, r *script.Result) rest.Object {
	v := rest.Object{
		"id": r.ID, "name": r.Name, "status": r.Status, "status_name": r.Status.String(), "exit_status": r.ExitStatus,
		"created": r.Created.UTC().Format(time.RFC1123Z), "updated": laterTime(r.Created, r.Ended).UTC().Format(time.RFC1123Z),
		"started": nil, "ended": timeOrNull(r.Ended), "runtime": "", "starttime": "", "endtime": "", "estimated_runtime": "Unknown",
		"parameters": testParameters(m, r), "script_id": nil, "script_revision_id": nil, "suppressed": false,
	}
	if !r.Ended.IsZero() {
		v["started"], v["runtime"] = timeOrNull(r.Created), formatRuntime(r.Created, r.Ended)
		v["starttime"], v["endtime"], v["estimated_runtime"] = unixSeconds(r.Created), unixSeconds(r.Ended), v["runtime"]
	}
	if c.Query.Get("include_output") != "" {
		text := base64.StdEncoding.EncodeToString([]byte(r.Output))
		v["output"], v["stdout"], v["stderr"], v["result"] = text, text, "", ""
	}
	return v
}

// testParameters are the parameters of a disk test (forms/parameters.py).
func testParameters(m *world.Machine, r *script.Result) rest.Object {
	i := slices.IndexFunc(m.Storage.Disks, func(d *storage.Disk) bool { return d.Name == r.Disk })
	if r.Disk == "" || i < 0 {
		return rest.Object{}
	}
	d := m.Storage.Disks[i]
	return rest.Object{"storage": rest.Object{
		"type": "storage", "argument_format": "{path}",
		"value": rest.Object{"id_path": d.IDPath, "name": d.Name, "model": d.Model, "serial": d.Serial, "physical_blockdevice_id": d.ID},
	}}
}

func laterTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC1123Z)
}

func unixSeconds(t time.Time) rest.Float { return rest.Float(float64(t.UnixMicro()) / 1e6) }

// formatRuntime is a duration as Python writes it.
func formatRuntime(began, ended time.Time) string {
	if began.IsZero() || ended.IsZero() {
		return ""
	}
	s := int(cmp.Or(ended.Sub(began), 0).Seconds())
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
