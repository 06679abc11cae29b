// Package spectro runs github.com/spectrocloud/maas-client-go, the client of CAPMaaS,
// on the simulator: each of its methods, whose effect a second read shows.
package spectro

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"

	"github.com/maaslxd/maaslxd/acctest/maassim/clients/surface"
	"github.com/maaslxd/maaslxd/acctest/maassim/clients/target"
)

// clientPackage is the package of the client's interfaces.
const clientPackage = "github.com/spectrocloud/maas-client-go/maasclient"

// TestSurface wants each method of the client to be called by these tests.
func TestSurface(t *testing.T) {
	called, err := surface.CalledMethods(clientPackage)
	if err != nil {
		t.Fatal(err)
	}
	methods := surface.ListMethods(reflect.TypeFor[maas.ClientSetInterface](), clientPackage)
	if len(methods) < 150 {
		t.Fatalf("only %d methods were found: %v", len(methods), methods)
	}
	for _, method := range methods {
		if !called[method] {
			t.Errorf("no test calls %s", method)
		}
	}
	t.Logf("%d methods", len(methods))
}

// testFailure is what must panics with, and start turns into the end of a test.
type testFailure struct{ text string }

// startClient is a client of a fresh simulator. What must or try fails on ends the test.
func startClient(t *testing.T, test func(maas.ClientSetInterface)) {
	t.Helper()
	url, key := target.ResetSimulator(t)
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case testFailure:
			t.Fatal(problem.text)
		default:
			panic(problem)
		}
	}()
	test(maas.NewAuthenticatedClientSet(url, key))
}

// newClient is a client of the same simulator. A client's Machines and the like keep
// the parameters of their last call, and send them with the next one.
func newClient() maas.ClientSetInterface {
	return maas.NewAuthenticatedClientSet(os.Getenv("MAAS_API_URL"), os.Getenv("MAAS_API_KEY"))
}

// must is what a call gave. Where it failed, the test ends.
func must[T any](value T, err error) T {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
	return value
}

// mustSucceed ends the test where a call failed.
func mustSucceed(err error) {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
}

// callerLine is the line of a test that called must or try.
func callerLine() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
}

// wantSame wants two values to be the same.
func wantSame[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// wantContains wants a list to have a thing, or not to have it.
func wantContains[T comparable](t *testing.T, what string, list []T, thing T, want bool) {
	t.Helper()
	if slices.Contains(list, thing) != want {
		t.Errorf("%s are %v; that %v is among them should be %t", what, list, thing, want)
	}
}

// names are those of a list of things.
func names[T any](things []T, name func(T) string) (all []string) {
	for _, thing := range things {
		all = append(all, name(thing))
	}
	return all
}

// wantRefused wants an error with a status, in the words of MAAS.
func wantRefused(t *testing.T, err error, status int, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("status: %d", status)) || !strings.Contains(err.Error(), says) {
		t.Errorf("the call gives %v, want status %d that says %q", err, status, says)
	}
}

// settleSimulator lets everything end that is under way.
func settleSimulator(t *testing.T) { target.CallSteering(t, http.MethodPost, "settle", nil) }
