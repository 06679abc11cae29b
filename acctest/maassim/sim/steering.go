package sim

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// steerRoot is the root of the simulator's own API, outside of MAAS's paths.
const steerRoot = "/_sim/"

// steeringOp is an operation below /_sim/. Bodies and answers are JSON.
type steeringOp struct {
	method, path string
	description  string // text for people
	handle       func(s *Sim, vars map[string]string, body []byte) (any, error)
}

// steeringOps are all operations of the simulator's own API. GET /_sim/ lists them.
func steeringOps() []steeringOp {
	return slices.Concat(machineSteeringOps(), lxdSteeringOps(), regionSteeringOps())
}

// machineSteeringOps are the list itself and the operations on MAAS's machines.
func machineSteeringOps() []steeringOp {
	return []steeringOp{
		{"GET", "", "this list", func(*Sim, map[string]string, []byte) (any, error) { return steerHelp(), nil }},
		{"GET", "access", "API keys of admin and user", steerAccess},
		{"GET", "machines", "MAAS's machines", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Machines(), nil }},
		{"PATCH", "machines/{id}", "change a machine behind the client's back", steerEditMachine},
		{"DELETE", "machines/{id}", "delete a machine as the UI would", func(s *Sim, v map[string]string, _ []byte) (any, error) { return nil, s.DeleteMachine(v["id"]) }},
		{"POST", "machines/{id}/finish", "finish the machine's transition now", func(s *Sim, v map[string]string, _ []byte) (any, error) { return nil, s.FinishMachine(v["id"]) }},
		{"POST", "machines/{id}/fail", `fail it now: {"message": "..."}, by a script: {"script": "...", "exit_status": 1, "output": "..."}`, steerFailMachine},
		{"PUT", "machines/{id}/hardware", `set the hardware that its next commissioning finds: {"cores": 4, "memory_mib": 8192, "disks": [{"name": "sda", ...}], "nics": [{"mac": "...", ...}]}`, steerHardware},
		{"PUT", "machines/{id}/first-boot", `set how its user-data ends: {"outcome": "ok"|"fails"|"never", "message": "..."}`, steerFirstBoot},
		{"GET", "machines/{id}/user-data", "the user-data that it was deployed with", steerUserData},
		{"POST", "settle", "finish everything that is under way in machines, VM hosts and LXDs; calls go on", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.Settle(); return nil, nil }},
	}
}

// lxdSteeringOps are the operations on LXDs and their instances.
func lxdSteeringOps() []steeringOp {
	return []steeringOp{
		{"GET", "instances", "the instances that really are in the LXDs", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Instances(), nil }},
		{"POST", "instances", `make a VM in an LXD: {"host": "host1", "name": "x"}`, steerAddInstance},
		{"PATCH", "instances/{host}/{name}", `start or stop it in LXD only: {"running": true}`, steerSetRunning},
		{"PATCH", "instances/{host}/{project}/{name}", "in a project", steerSetRunning},
		{"DELETE", "instances/{host}/{name}", "remove a VM from the host's project", func(s *Sim, v map[string]string, _ []byte) (any, error) {
			return nil, s.RemoveInstance(v["host"], "", v["name"])
		}},
		{"DELETE", "instances/{host}/{project}/{name}", "remove a VM from a project", func(s *Sim, v map[string]string, _ []byte) (any, error) {
			return nil, s.RemoveInstance(v["host"], v["project"], v["name"])
		}},
		{"POST", "hosts/{host}/refresh", "press Refresh in the UI", func(s *Sim, v map[string]string, _ []byte) (any, error) { return nil, s.RefreshHost(v["host"]) }},
		{"GET", "lxd", "the LXDs that listen", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.LXDs(), nil }},
		{"PUT", "lxd/{host}", `{"condition": "ok"|"unreachable"|"slow"|"hanging"}`, steerLXD},
		{"POST", "lxd/{host}/trust", `trust a certificate: {"certificate": "PEM"}`, steerTrust},
		{"POST", "lxd/{host}/renew", "show another certificate from now on", func(s *Sim, v map[string]string, _ []byte) (any, error) {
			certificate, err := s.RenewCertificate(v["host"])
			return map[string]string{"certificate": certificate}, err
		}},
	}
}

// regionSteeringOps are the operations on MAAS as a whole, and on faults.
func regionSteeringOps() []steeringOp {
	return []steeringOp{
		{"PUT", "rack", `{"condition": "ok"|"unreachable"}`, steerRack},
		{"GET", "nasty", "the random faults, and how often each struck", steerGetRandomFaults},
		{"PUT", "nasty", `set random faults: {"lost_reply": 0.1, ...}; {} ends them`, steerSetRandomFaults},
		{"GET", "overcommits", "where instances held more than an LXD may give", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Overcommits(), nil }},
		{"GET", "faults", "the faults that were added", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Faults(), nil }},
		{"POST", "faults", "add a fault", steerAddFault},
		{"DELETE", "faults", "remove all faults", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.ClearFaults(); return nil, nil }},
		{"DELETE", "faults/{id}", "remove a fault", steerRemoveFault},
		{"GET", "journal", "the calls; with ?calls=0 only their counts", steerJournal},
		{"DELETE", "journal", "empty the journal", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.ResetJournal(); return nil, nil }},
		{"POST", "upgrade", "remove the VM hosts from MAAS, as its upgrade does, and leave the machines", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return nil, s.Upgrade() }},
		{"POST", "reset", "reset the world to the model", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.Reset(); return nil, nil }},
	}
}

func steerHelp() map[string]string {
	help := map[string]string{}
	for _, op := range steeringOps() {
		help[op.method+" "+steerRoot+op.path] = op.description
	}
	return help
}

// answerSteering answers a request below /_sim/: 200 with JSON, 204, or 400, 404 and 405
// with {"error": "..."}.
func (s *Sim) answerSteering(r *http.Request) rest.Reply {
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, steerRoot), "/")
	known := false
	for _, op := range steeringOps() {
		vars, matches := rest.MatchPath(op.path, path)
		known = known || matches
		if matches && op.method == r.Method {
			vars["?calls"] = r.URL.Query().Get("calls")
			return s.runSteering(op, vars, r.Body)
		}
	}
	if known {
		return steerError(http.StatusMethodNotAllowed, errors.New("no "+r.Method+" here; see GET "+steerRoot))
	}
	return steerError(http.StatusNotFound, errors.New("nothing at "+r.URL.Path+"; see GET "+steerRoot))
}

func (s *Sim) runSteering(op steeringOp, vars map[string]string, in io.Reader) rest.Reply {
	var body []byte
	if in != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(in, rest.MaxBody)); err != nil {
			return steerError(http.StatusBadRequest, err)
		}
	}
	answer, err := op.handle(s, vars, body)
	switch {
	case err != nil:
		return steerError(http.StatusBadRequest, err)
	case answer == nil:
		return rest.Reply{Status: http.StatusNoContent, Kind: rest.TypeText}
	}
	return rest.Reply{Status: http.StatusOK, Kind: rest.TypeJSON, Body: rest.Encode(answer)}
}

func steerError(status int, err error) rest.Reply {
	return rest.Reply{Status: status, Kind: rest.TypeJSON, Body: rest.Encode(rest.Object{"error": err.Error()})}
}
