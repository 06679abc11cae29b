package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// nastyValues are values that no MAAS answers where others belong.
var nastyValues = []string{
	"null", "-1", "1e18", "9223372036854775807", "-9223372036854775808", "1e400", `""`, `"../../x"`, `"a/b"`, `"\u0000\n\u001b[31m"`,
	`"\ud800"`, "[]", "{}", "[null]", `{"id":null}`, "true", `"NaN"`, "3.5", `"%2e%2e"`, `"x\n  y: z"`,
}

// mutator passes a simulator's answers on, with some of their values changed.
type mutator struct {
	through http.RoundTripper

	mu     sync.Mutex
	chance *rand.Rand
	part   float64 // of the values that are changed; zero: none
}

// ServeHTTP implements http.Handler.
func (m *mutator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", "sim"
	res, err := m.through.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	status, kind, body := m.change(res.StatusCode, res.Header.Get("Content-Type"), body)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // whoever asked may have gone
}

func (m *mutator) change(status int, kind string, body []byte) (int, string, []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.part == 0 {
		return status, kind, body
	}
	var answer any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if m.chance.Float64() < 0.5 && decoder.Decode(&answer) == nil {
		if changed, err := json.Marshal(m.mutate(answer)); err == nil {
			body = changed
		}
	}
	if m.chance.Float64() < 0.02 {
		kind = "text/html"
	}
	if m.chance.Float64() < 0.03 {
		status = []int{200, 301, 400, 401, 404, 409, 410, 500, 503, 599}[m.chance.IntN(10)]
	}
	return status, kind, body
}

// mutate changes some of the values, leaves members out and repeats elements.
func (m *mutator) mutate(value any) any {
	if m.chance.Float64() < m.part {
		return json.RawMessage(nastyValues[m.chance.IntN(len(nastyValues))])
	}
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if v[name] = m.mutate(v[name]); m.chance.Float64() < m.part {
				delete(v, name)
			}
		}
	case []any:
		for n := range v {
			v[n] = m.mutate(v[n])
		}
		if len(v) > 0 && m.chance.Float64() < m.part {
			return append(v, v[0])
		}
	}
	return value
}

// TestMutatedAnswers makes and removes a VM at a MAAS that answers nonsense now and then:
// nothing panics, no second VM comes to be, and what people read is one line.
func TestMutatedAnswers(t *testing.T) {
	t.Parallel()
	const schedules = 6
	for seed := range schedules {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := sim.StartServer(t, sim.DefaultModel())
			m := &mutator{through: s.RoundTripper(), chance: rand.New(rand.NewPCG(uint64(seed), 0)), part: []float64{0.002, 0.01, 0.05}[seed%3]}
			server := httptest.NewServer(m)
			t.Cleanup(server.Close)
			at, err := New(Config{
				URL: server.URL, APIKey: s.APIKey(), Ledger: ledger.NewMemory(nil), Interval: 20 * time.Millisecond, Timeout: time.Second, Composer: MAAS,
				Credentials: func(context.Context) (engine.Credentials, error) { return engine.Credentials{}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(at.Close)
			before := len(s.Instances())
			ref := engine.Ref{Key: "o/odd-1", Name: "odd-1"}
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			vm, err := engine.WaitUntilDone(ctx, at.VMs.Steps(ref, engine.VMSpec{
				Name: "odd-1", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{SizeGB: 8}}, Deploy: &engine.Deployment{Image: "ubuntu/noble"},
			}))
			if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("the error is no line: %q", err)
			}
			_, _ = at.Inventory.Fleet(t.Context())
			ref.SystemID = vm.SystemID
			if seed%2 == 0 {
				end, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, _ = engine.WaitUntilDone(end, func(ctx context.Context) (engine.Result[engine.VM], error) { return at.VMs.Delete(ctx, ref) })
			}
			s.Settle()
			if made := len(s.Instances()) - before; made < 0 || made > 1 {
				t.Errorf("%d VMs were made: %+v", made, s.Instances())
			}
		})
	}
}
