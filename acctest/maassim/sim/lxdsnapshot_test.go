package sim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestLXDSnapshots takes, lists, restores and deletes snapshots. The results were measured
// with LXD 5.0.2.
func TestLXDSnapshots(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	synctest.Test(t, func(t *testing.T) {
		m := lxdModel(pair)
		m.Latency = sim.Latency{Compose: 4 * time.Second, Delete: time.Second}
		maas := newMAASClient(t, m)
		c := dialLXD(t, maas.sim, pair)
		defer c.Disconnect()
		if err := waitForLXD(c.CreateInstance(newVM("vm1"))); err != nil {
			t.Fatal(err)
		}
		take := func(name string, change ...func(*api.InstanceSnapshotsPost)) error {
			post := api.InstanceSnapshotsPost{Name: name}
			for _, each := range change {
				each(&post)
			}
			return waitForLXD(c.CreateInstanceSnapshot("vm1", post))
		}
		wantWords := func(what string, err error, want string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want %q, got %v", what, want, err)
			}
		}
		wantNames := func(want ...string) {
			t.Helper()
			names, err := c.GetInstanceSnapshotNames("vm1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("snapshots (-want +got):\n%s", diff)
			}
		}
		start := time.Now()
		if err := take("s1"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v, want a quarter of a compose", took)
		}
		wantWords("a second one", take("s1"), `Failed creating instance snapshot record "s1": Add snapshot info to the database: This "instances_snapshots" entry already exists`)
		wantWords("a space", take("a b"), "Cannot contain space or / characters")
		wantLXD(t, "a slash", take("a/b"), 400)
		wantWords("a stateful one", take("s2", func(p *api.InstanceSnapshotsPost) { p.Stateful = true }), "migration.stateful")
		soon := time.Now().Add(time.Hour)
		if err := take("short", func(p *api.InstanceSnapshotsPost) { p.ExpiresAt = &soon }); err != nil {
			t.Fatal(err)
		}
		wantNames("s1", "short")
		time.Sleep(2 * time.Hour)
		wantNames("s1")

		i, etag, err := c.GetInstance("vm1")
		if err != nil {
			t.Fatal(err)
		}
		put := i.Writable()
		put.Config["limits.cpu"], put.Config["user.owner"] = "4", "you"
		if err := waitForLXD(c.UpdateInstance("vm1", put, etag)); err != nil {
			t.Fatal(err)
		}
		wantWords("an unknown one", waitForLXD(c.UpdateInstance("vm1", api.InstancePut{Restore: "s9"}, "")), "Snapshot vm1/s9 does not exist")
		if err := waitForLXD(c.UpdateInstance("vm1", api.InstancePut{Restore: "s1"}, "")); err != nil {
			t.Fatal(err)
		}
		if i, _, err = c.GetInstance("vm1"); err != nil || i.Config["limits.cpu"] != "2" || i.Config["user.owner"] != "me" {
			t.Errorf("after the restore it has %v, %v", i.Config, err)
		}
		if all := maas.sim.Instances(); len(all) != 1 || all[0].Cores != 2 {
			t.Errorf("MAAS sees %+v", all)
		}
		s, _, err := c.GetInstanceSnapshot("vm1", "s1")
		if err != nil || s.ExpandedDevices["eth0"]["hwaddr"] != "00:16:3e:00:00:01" || s.Config["limits.cpu"] != "2" {
			t.Errorf("the snapshot is %+v, %v", s, err)
		}
		_, _, err = c.GetInstanceSnapshot("vm1", "s9")
		wantLXD(t, "an unknown snapshot", err, 404)
		if err := waitForLXD(c.DeleteInstanceSnapshot("vm1", "s1")); err != nil {
			t.Error(err)
		}
		wantLXD(t, "a second delete", waitForLXD(c.DeleteInstanceSnapshot("vm1", "s1")), 404)
		if err := take("last"); err != nil {
			t.Fatal(err)
		}
		if err := waitForLXD(c.DeleteInstance("vm1")); err != nil {
			t.Errorf("an instance goes with its snapshots: %v", err)
		}
	})
}
