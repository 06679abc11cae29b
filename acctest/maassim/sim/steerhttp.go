package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// steerRoot is where the simulator is steered, outside of MAAS's own paths.
const steerRoot = "/_sim/"

// steering is an operation below /_sim/. Bodies and answers are JSON.
type steering struct {
	method, path string
	does         string // for people
	handle       func(s *Sim, vars map[string]string, body []byte) (any, error)
}

// steerings lists what can be done; GET /_sim/ shows it.
func steerings() []steering {
	return []steering{
		{"GET", "", "this list", func(*Sim, map[string]string, []byte) (any, error) { return steerHelp(), nil }},
		{"GET", "access", "API keys of admin and user", steerAccess},
		{"GET", "machines", "MAAS's machines", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Machines(), nil }},
		{"PATCH", "machines/{id}", "change a machine behind the client's back", steerEdit},
		{"DELETE", "machines/{id}", "delete a machine as the UI would", func(s *Sim, v map[string]string, _ []byte) (any, error) { return nil, s.DeleteMachine(v["id"]) }},
		{"POST", "machines/{id}/finish", "finish the machine's transition now", func(s *Sim, v map[string]string, _ []byte) (any, error) { return nil, s.Finish(v["id"]) }},
		{"POST", "machines/{id}/fail", `fail it now: {"message": "..."}`, steerFail},
		{"PUT", "machines/{id}/first-boot", `how its user-data ends: {"outcome": "ok"|"fails"|"never", "message": "..."}`, steerFirstBoot},
		{"GET", "machines/{id}/user-data", "the user-data that it was deployed with", steerUserData},
		{"POST", "settle", "finish what is under way in machines, VM hosts and LXDs; calls go on", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.Settle(); return nil, nil }},
		{"GET", "instances", "what really is in the LXDs", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Instances(), nil }},
		{"POST", "instances", `make a VM in an LXD: {"host": "host1", "name": "x"}`, steerAddInstance},
		{"PATCH", "instances/{host}/{name}", `start or stop it in LXD alone: {"running": true}`, steerInstance},
		{"PATCH", "instances/{host}/{project}/{name}", "in a project", steerInstance},
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
		{"PUT", "rack", `{"condition": "ok"|"unreachable"}`, steerRack},
		{"GET", "nasty", "how much goes wrong, and what did", steerNastyNow},
		{"PUT", "nasty", `let things go wrong by themselves: {"lost_reply": 0.1, ...}; {} ends it`, steerNasty},
		{"GET", "overcommits", "where instances ever held more than there is", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Overcommits(), nil }},
		{"GET", "faults", "the faults that were added", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return s.Faults(), nil }},
		{"POST", "faults", "add a fault", steerAddFault},
		{"DELETE", "faults", "remove all faults", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.ClearFaults(); return nil, nil }},
		{"DELETE", "faults/{id}", "remove a fault", steerRemoveFault},
		{"GET", "journal", "what was called; with ?calls=0 only the counts", steerJournal},
		{"DELETE", "journal", "empty the journal", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.ResetJournal(); return nil, nil }},
		{"POST", "upgrade", "remove the VM hosts from MAAS, as its upgrade does, and leave the machines", func(s *Sim, _ map[string]string, _ []byte) (any, error) { return nil, s.Upgrade() }},
		{"POST", "reset", "go back to the model", func(s *Sim, _ map[string]string, _ []byte) (any, error) { s.Reset(); return nil, nil }},
	}
}

func steerHelp() map[string]string {
	help := map[string]string{}
	for _, op := range steerings() {
		help[op.method+" "+steerRoot+op.path] = op.does
	}
	return help
}

// steer answers a request below /_sim/: 200 with JSON, 204, or 400, 404 and
// 405 with {"error": "..."}.
func (s *Sim) steer(r *http.Request) reply {
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, steerRoot), "/")
	known := false
	for _, op := range steerings() {
		vars, matches := matchPath(op.path, path)
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

func (s *Sim) runSteering(op steering, vars map[string]string, in io.Reader) reply {
	var body []byte
	if in != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(in, maxBody)); err != nil {
			return steerError(http.StatusBadRequest, err)
		}
	}
	answer, err := op.handle(s, vars, body)
	switch {
	case err != nil:
		return steerError(http.StatusBadRequest, err)
	case answer == nil:
		return reply{status: http.StatusNoContent, kind: typeText}
	}
	return reply{status: http.StatusOK, kind: typeJSON, body: encode(answer)}
}

func steerError(status int, err error) reply {
	return reply{status: status, kind: typeJSON, body: encode(object{"error": err.Error()})}
}

// decode reads a steering body and refuses fields that it does not know.
func decode(body []byte, to any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("cannot read the body: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("cannot read the body: something follows it")
	}
	return nil
}

func steerAccess(s *Sim, _ map[string]string, _ []byte) (any, error) {
	return map[string]string{"api_key": s.APIKey(), "user_api_key": s.UserAPIKey()}, nil
}

func steerEdit(s *Sim, vars map[string]string, body []byte) (any, error) {
	var e MachineEdit
	if err := decode(body, &e); err != nil {
		return nil, err
	}
	return nil, s.EditMachine(vars["id"], e)
}

func steerFail(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Message string `json:"message"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return nil, s.Fail(vars["id"], in.Message)
}

func steerNastyNow(s *Sim, _ map[string]string, _ []byte) (any, error) {
	return map[string]any{"nasty": s.Nasty(), "struck": s.NastyStruck()}, nil
}

func steerNasty(s *Sim, _ map[string]string, body []byte) (any, error) {
	var n Nasty
	if err := decode(body, &n); err != nil {
		return nil, err
	}
	return nil, s.SetNasty(n)
}

func steerFirstBoot(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Outcome FirstBoot `json:"outcome"`
		Message string    `json:"message"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return nil, s.SetFirstBoot(vars["id"], in.Outcome, in.Message)
}

func steerUserData(s *Sim, vars map[string]string, _ []byte) (any, error) {
	data, err := s.UserData(vars["id"])
	return map[string]string{"user_data": string(data)}, err
}

func steerAddInstance(s *Sim, _ map[string]string, body []byte) (any, error) {
	var i Instance
	if err := decode(body, &i); err != nil {
		return nil, err
	}
	return nil, s.AddInstance(i)
}

func steerInstance(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Running *bool `json:"running"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if in.Running == nil {
		return nil, errors.New(`running: want true or false`)
	}
	return nil, s.SetRunning(vars["host"], vars["project"], vars["name"], *in.Running)
}

func readCondition(body []byte) (Condition, error) {
	var in struct {
		Condition Condition `json:"condition"`
	}
	return in.Condition, decode(body, &in)
}

func steerLXD(s *Sim, vars map[string]string, body []byte) (any, error) {
	c, err := readCondition(body)
	if err != nil {
		return nil, err
	}
	return nil, s.SetLXD(vars["host"], c)
}

func steerRack(s *Sim, _ map[string]string, body []byte) (any, error) {
	c, err := readCondition(body)
	if err != nil {
		return nil, err
	}
	return nil, s.SetRack(c)
}

func steerTrust(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Certificate string `json:"certificate"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	return nil, s.TrustCertificate(vars["host"], in.Certificate)
}

func steerAddFault(s *Sim, _ map[string]string, body []byte) (any, error) {
	var f Fault
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("cannot read the fault: %w", err)
	}
	id, err := s.addFault(f)
	return map[string]int{"id": id}, err
}

func steerJournal(s *Sim, vars map[string]string, _ []byte) (any, error) {
	j := s.Journal()
	switch calls := vars["?calls"]; calls {
	case "0":
		j.Calls, j.LXD.Calls = nil, nil
	case "", "1":
	default:
		return nil, fmt.Errorf("calls: %q is neither 0 nor 1", calls)
	}
	return j, nil
}

func steerRemoveFault(s *Sim, vars map[string]string, _ []byte) (any, error) {
	id, err := strconv.Atoi(vars["id"])
	if err != nil {
		return nil, fmt.Errorf("%q is no id of a fault", vars["id"])
	}
	s.RemoveFault(id)
	return nil, nil
}
