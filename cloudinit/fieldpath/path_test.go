package fieldpath_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

func TestPathString(t *testing.T) {
	t.Parallel()
	disks := fieldpath.New("disks")
	for want, path := range map[string]fieldpath.Path{
		"":                             {},
		"cores":                        fieldpath.New("cores"),
		"deploy.image":                 fieldpath.New("deploy", "image"),
		"disks.root.pool":              disks.Key("root").Child("pool"),
		`disks["a.b"].pool`:            disks.Key("a.b").Child("pool"),
		`disks["a\"]"]`:                disks.Key(`a"]`),
		`disks[""]`:                    disks.Key(""),
		"interfaces.eth0.addresses[1]": fieldpath.New("interfaces").Key("eth0").Child("addresses").Index(1),
		"lxd.disks.root":               fieldpath.New("lxd").Join(disks.Key("root")),
	} {
		if got := path.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestPathsShareNothing makes two children of one path: neither changes the other.
func TestPathsShareNothing(t *testing.T) {
	t.Parallel()
	parent := fieldpath.New("a", "b", "c").Child("d")
	first, second := parent.Child("one"), parent.Child("two")
	if first.String() != "a.b.c.d.one" || second.String() != "a.b.c.d.two" {
		t.Errorf("got %s and %s", first, second)
	}
	if first.Equal(second) || !first.Equal(parent.Child("one")) {
		t.Error("paths are not compared by their steps")
	}
}

func TestPathParts(t *testing.T) {
	t.Parallel()
	path := fieldpath.New("lxd", "networks").Key("br0.1").Child("addresses").Index(2)
	if got, want := path.Steps(), []fieldpath.Step{fieldpath.Name("lxd"), fieldpath.Name("networks"), fieldpath.Key("br0.1"), fieldpath.Name("addresses"), fieldpath.Index(2)}; cmp.Diff(got, want) != "" {
		t.Error(cmp.Diff(got, want))
	}
	if path.RootName() != "lxd" || path.LastName() != "" || fieldpath.New("lxd").Key("br0.1").LastName() != "br0.1" || (fieldpath.Path{}).RootName() != "" || (fieldpath.Path{}).LastName() != "" {
		t.Error("the outermost and innermost steps are others")
	}
	if got := path.Parent().String(); got != `lxd.networks["br0.1"].addresses` || !fieldpath.New("lxd").Parent().IsEmpty() || !(fieldpath.Path{}).Parent().IsEmpty() {
		t.Errorf("its parent is %s", got)
	}
	for _, tc := range []struct {
		outer fieldpath.Path
		rest  string
		found bool
	}{
		{fieldpath.Path{}, path.String(), true},
		{fieldpath.New("lxd"), `networks["br0.1"].addresses[2]`, true},
		{path, "", true},
		{path.Child("more"), path.String(), false},
		{fieldpath.New("lx"), path.String(), false},
		{fieldpath.New("lxd").Key("networks"), path.String(), false}, // a key is no field
	} {
		rest, found := path.CutPrefix(tc.outer)
		if rest.String() != tc.rest || found != tc.found || rest.IsEmpty() != (tc.rest == "") {
			t.Errorf("below %s: got %s, %t", tc.outer, rest, found)
		}
	}
}
