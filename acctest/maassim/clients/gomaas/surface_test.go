package gomaas

import (
	"reflect"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/juju/gomaasapi/v2"

	"github.com/maaslxd/maaslxd/acctest/maassim/clients/surface"
)

// api is the package of the client's interfaces.
const api = "github.com/canonical/gomaasclient/api"

// TestEachMethodIsCalled checks that these tests call each method of the client.
func TestEachMethodIsCalled(t *testing.T) {
	called, err := surface.CalledMethods(api)
	if err != nil {
		t.Fatal(err)
	}
	methods := surface.ListMethods(reflect.TypeFor[client.Client](), api)
	if len(methods) < 200 {
		t.Fatalf("only %d methods were found: %v", len(methods), methods)
	}
	for _, method := range methods {
		if !called[method] {
			t.Errorf("no test calls %s", method)
		}
	}
	t.Logf("%d methods", len(methods))
}

// statusOf is the HTTP status in an error of the client, or 0.
func statusOf(err error) int {
	if answer, ok := gomaasapi.GetServerError(err); ok {
		return answer.StatusCode
	}
	return 0
}

// bodyOf is MAAS's message in an error of the client.
func bodyOf(err error) string {
	if answer, ok := gomaasapi.GetServerError(err); ok {
		return answer.BodyMessage
	}
	return ""
}
