package assembly_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestComposedUnderAnotherName: MAAS makes up a name where it does not take the one that
// it was asked for. Such a machine goes at once, and the VM is made anew.
func TestComposedUnderAnotherName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inMemory(t)
		var renamed atomic.Bool
		r.transport = func() http.RoundTripper {
			return transportFunc(func(req *http.Request) (*http.Response, error) {
				if req.URL.Query().Get("op") == "compose" && !renamed.Swap(true) {
					form, err := io.ReadAll(req.Body)
					if err != nil {
						return nil, err
					}
					text := strings.Replace(string(form), "hostname=web-1", "hostname=wise-fox", 1)
					req.Body, req.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
				}
				return r.sim.RoundTripper().RoundTrip(req)
			})
		}
		vm, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).create(newVMRef)
		if err != nil || vm.Hostname != "web-1" {
			t.Errorf("got %s and %v, want web-1", vm.Hostname, err)
		}
		if !renamed.Load() {
			t.Fatal("nothing was composed")
		}
		for _, i := range r.sim.Instances() {
			if i.Name != "web-1" {
				t.Errorf("the instance %s is there, of a machine that nobody asked for", i.Name)
			}
		}
		if n := len(r.sim.Instances()); n != 1 {
			t.Errorf("there are %d instances, want one", n)
		}
	})
}

// transportFunc is a function that sends requests.
type transportFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
