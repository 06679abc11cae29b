// Package target is the simulator that the clients of this module call. The
// environment names it, as maassim prints it: MAAS_API_URL and MAAS_API_KEY.
package target

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// ResetSimulator resets the simulator to its model, and returns its URL and API key. It
// ends the test where the environment names no simulator.
func ResetSimulator(t testing.TB) (url, key string) {
	t.Helper()
	url, key = os.Getenv("MAAS_API_URL"), os.Getenv("MAAS_API_KEY")
	if url == "" || key == "" {
		t.Fatal("MAAS_API_URL and MAAS_API_KEY must name a simulator, which each test resets: start maassim, or run TestClients of acctest/maassim")
	}
	CallSteering(t, http.MethodPost, "reset", nil)
	return url, key
}

// CallSteering calls a path below /_sim/, the simulator's own API. It decodes the answer
// into a value, if there is one.
func CallSteering(t testing.TB, method, path string, into any) {
	t.Helper()
	root := strings.TrimSuffix(strings.TrimSuffix(os.Getenv("MAAS_API_URL"), "/"), "/MAAS")
	r, err := http.NewRequestWithContext(t.Context(), method, root+"/_sim/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode/100 != 2 {
		t.Fatalf("%s _sim/%s: %s: %s", method, path, answer.Status, body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatal(err)
	}
}
