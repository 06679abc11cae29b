package maas

import "testing"

func TestNewCallsNothing(t *testing.T) {
	t.Parallel()
	f := newConstantFake(500, "text/plain", "")
	testClient(t, f).Close()
	if got := f.routes(); len(got) != 0 {
		t.Errorf("New called %v", got)
	}
}
