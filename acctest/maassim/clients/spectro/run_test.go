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

// pkg is the package of the client's interfaces.
const pkg = "github.com/spectrocloud/maas-client-go/maasclient"

// TestSurface wants each method of the client to be called by these tests.
func TestSurface(t *testing.T) {
	called, err := surface.Called(pkg)
	if err != nil {
		t.Fatal(err)
	}
	methods := surface.Methods(reflect.TypeFor[maas.ClientSetInterface](), pkg)
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

// failure is what must panics with, and start turns into the end of a test.
type failure struct{ text string }

// start is a client of a fresh simulator. What must or try fails on ends the test.
func start(t *testing.T, test func(maas.ClientSetInterface)) {
	t.Helper()
	url, key := target.Fresh(t)
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			t.Fatal(problem.text)
		default:
			panic(problem)
		}
	}()
	test(maas.NewAuthenticatedClientSet(url, key))
}

// another is a client of the same simulator. A client's Machines and the like keep
// the parameters of their last call, and send them with the next one.
func another() maas.ClientSetInterface {
	return maas.NewAuthenticatedClientSet(os.Getenv("MAAS_API_URL"), os.Getenv("MAAS_API_KEY"))
}

// must is what a call gave. Where it failed, the test ends.
func must[T any](value T, err error) T {
	if err != nil {
		panic(failure{caller() + err.Error()})
	}
	return value
}

// try ends the test where a call failed.
func try(err error) {
	if err != nil {
		panic(failure{caller() + err.Error()})
	}
}

// caller is the line of a test that called must or try.
func caller() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
}

// same wants two values to be the same.
func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// has wants a list to have a thing, or not to have it.
func has[T comparable](t *testing.T, what string, list []T, thing T, want bool) {
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

// refused wants an error with a status, in the words of MAAS.
func refused(t *testing.T, err error, status int, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("status: %d", status)) || !strings.Contains(err.Error(), says) {
		t.Errorf("the call gives %v, want status %d that says %q", err, status, says)
	}
}

// settle lets everything end that is under way.
func settle(t *testing.T) { target.Steer(t, http.MethodPost, "settle", nil) }
