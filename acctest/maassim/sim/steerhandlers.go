package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// decodeStrict decodes a body of the simulator's own API and refuses unknown fields.
func decodeStrict(body []byte, to any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("cannot read the body: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("cannot read the body: there is more text after it")
	}
	return nil
}

func steerAccess(s *Sim, _ map[string]string, _ []byte) (any, error) {
	return map[string]string{"api_key": s.APIKey(), "user_api_key": s.UserAPIKey()}, nil
}

func steerEditMachine(s *Sim, vars map[string]string, body []byte) (any, error) {
	var e MachineEdit
	if err := decodeStrict(body, &e); err != nil {
		return nil, err
	}
	return nil, s.EditMachine(vars["id"], e)
}

func steerFailMachine(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Message string `json:"message"`
		Failure
	}
	if err := decodeStrict(body, &in); err != nil {
		return nil, err
	}
	in.Output = cmp.Or(in.Output, in.Message)
	return nil, s.FailScript(vars["id"], in.Message, in.Failure)
}

func steerGetRandomFaults(s *Sim, _ map[string]string, _ []byte) (any, error) {
	return map[string]any{"nasty": s.RandomFaults(), "struck": s.RandomFaultCounts()}, nil
}

func steerSetRandomFaults(s *Sim, _ map[string]string, body []byte) (any, error) {
	var n RandomFaults
	if err := decodeStrict(body, &n); err != nil {
		return nil, err
	}
	return nil, s.SetRandomFaults(n)
}

func steerFirstBoot(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Outcome FirstBoot `json:"outcome"`
		Message string    `json:"message"`
	}
	if err := decodeStrict(body, &in); err != nil {
		return nil, err
	}
	return nil, s.SetFirstBoot(vars["id"], in.Outcome, in.Message)
}

func steerHardware(s *Sim, vars map[string]string, body []byte) (any, error) {
	var h Hardware
	if err := decodeStrict(body, &h); err != nil {
		return nil, err
	}
	return nil, s.SetHardware(vars["id"], h)
}

func steerUserData(s *Sim, vars map[string]string, _ []byte) (any, error) {
	data, err := s.UserData(vars["id"])
	return map[string]string{"user_data": string(data)}, err
}

func steerAddInstance(s *Sim, _ map[string]string, body []byte) (any, error) {
	var i Instance
	if err := decodeStrict(body, &i); err != nil {
		return nil, err
	}
	return nil, s.AddInstance(i)
}

func steerSetRunning(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Running *bool `json:"running"`
	}
	if err := decodeStrict(body, &in); err != nil {
		return nil, err
	}
	if in.Running == nil {
		return nil, errors.New(`running: want true or false`)
	}
	return nil, s.SetInstanceRunning(vars["host"], vars["project"], vars["name"], *in.Running)
}

func readCondition(body []byte) (Condition, error) {
	var in struct {
		Condition Condition `json:"condition"`
	}
	return in.Condition, decodeStrict(body, &in)
}

func steerLXD(s *Sim, vars map[string]string, body []byte) (any, error) {
	c, err := readCondition(body)
	if err != nil {
		return nil, err
	}
	return nil, s.SetLXDCondition(vars["host"], c)
}

func steerRack(s *Sim, _ map[string]string, body []byte) (any, error) {
	c, err := readCondition(body)
	if err != nil {
		return nil, err
	}
	return nil, s.SetRackCondition(c)
}

func steerTrust(s *Sim, vars map[string]string, body []byte) (any, error) {
	var in struct {
		Certificate string `json:"certificate"`
	}
	if err := decodeStrict(body, &in); err != nil {
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
		return nil, fmt.Errorf("%q is not the id of a fault", vars["id"])
	}
	s.RemoveFault(id)
	return nil, nil
}
