package values

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"a"}, Difference([]string{"a", "b"}, []string{"b", "c"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
