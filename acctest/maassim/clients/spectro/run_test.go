// Package spectro runs each method of github.com/spectrocloud/maas-client-go, the client
// of CAPMaaS, on the simulator. A second read shows the method's effect.
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

// TestEachMethodIsCalled checks that these tests call each method of the client.
func TestEachMethodIsCalled(t *testing.T) {
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

// testFailure is the value with which must panics. startClient ends the test with it.
type testFailure struct{ text string }

// startClient runs a test with a client of a reset simulator. A call that fails in must or
// mustSucceed ends the test.
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

// newClient is another client of the same simulator. A client's Machines and other
// services keep the parameters of their last call, and send them with the next one.
func newClient() maas.ClientSetInterface {
	return maas.NewAuthenticatedClientSet(os.Getenv("MAAS_API_URL"), os.Getenv("MAAS_API_KEY"))
}

// must returns the value of a call, and ends the test if the call failed.
func must[T any](value T, err error) T {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
	return value
}

// mustSucceed ends the test if a call failed.
func mustSucceed(err error) {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
}

// callerLine is the line of the test that called must or mustSucceed.
func callerLine() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
}

// wantSame checks that two values are equal.
func wantSame[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// wantContains checks whether a list contains a value.
func wantContains[T comparable](t *testing.T, what string, list []T, thing T, want bool) {
	t.Helper()
	if slices.Contains(list, thing) != want {
		t.Errorf("%s are %v; that %v is among them should be %t", what, list, thing, want)
	}
}

// names are the names of a list's entries.
func names[T any](things []T, name func(T) string) (all []string) {
	for _, thing := range things {
		all = append(all, name(thing))
	}
	return all
}

// wantRefused checks for an error with a status and MAAS's words.
func wantRefused(t *testing.T, err error, status int, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("status: %d", status)) || !strings.Contains(err.Error(), says) {
		t.Errorf("the call gives %v, want status %d that says %q", err, status, says)
	}
}

// settleSimulator ends everything that is under way.
func settleSimulator(t *testing.T) { target.CallSteering(t, http.MethodPost, "settle", nil) }
