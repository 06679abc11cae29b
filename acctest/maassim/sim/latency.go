package sim

import (
	"encoding/json"
	"fmt"
	"time"
)

// durations gives the fields their names in files.
func (l *Latency) durations() map[string]*time.Duration {
	return map[string]*time.Duration{
		"call": &l.Call, "compose": &l.Compose, "commission": &l.Commission,
		"deploy": &l.Deploy, "first_boot": &l.FirstBoot, "release": &l.Release, "power_on": &l.PowerOn,
		"power_off": &l.PowerOff, "refresh": &l.Refresh,
		"inventory": &l.Inventory, "delete": &l.Delete,
	}
}

// MarshalJSON writes the latencies that are not zero.
func (l Latency) MarshalJSON() ([]byte, error) {
	out := map[string]string{}
	for name, d := range l.durations() {
		if *d != 0 {
			out[name] = d.String()
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads texts like "300ms" and refuses names that it does not
// know.
func (l *Latency) UnmarshalJSON(data []byte) error {
	var in map[string]string
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf(`latency: want an object of texts like "300ms": %w`, err)
	}
	known := l.durations()
	for name, text := range in {
		field, ok := known[name]
		if !ok {
			return fmt.Errorf("latency.%s: no such latency", name)
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("latency.%s: %w", name, err)
		}
		*field = d
	}
	return nil
}
