//go:build unix

package manager_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// TestKubeRollOut replaces both managers, one after the other, as a Deployment
// does. It does so while many machines are made, and again while they are
// deleted. Each machine has one VM, no host has more than it can bear, and
// nothing is left.
func TestKubeRollOut(t *testing.T) {
	t.Parallel()
	machines := 50
	if testing.Short() {
		machines = 10
	}
	const space, hosts = "rollout", 5
	model := fastModel()
	model.Machines, model.Hosts = nil, nil
	for n := range hosts { // with room for these VMs, and no more
		model.Hosts = append(model.Hosts, sim.HostModel{Name: fmt.Sprint("h", n), Cores: 2 * machines / hosts, MemoryMiB: 1 << 20, Zone: "az1"})
	}
	model.Latency = sim.Latency{Compose: 3 * time.Second, Commission: time.Second, Deploy: time.Second, Release: 300 * time.Millisecond}
	w := &world{stage: onStage(t), t: t, namespace: space, watchLabel: space}
	w.maas = w.startMAAS(space, model)
	before := len(w.maas.Machines())
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	w.createIdentity(space, w.maas.URL, w.maas.APIKey(), space)
	ctx, cancel := context.WithCancel(context.Background())
	d := &deployment{world: w, ctx: ctx}
	t.Cleanup(func() {
		cancel()
		for _, p := range d.running {
			<-p.ended
		}
	})
	d.scale(2)

	c := w.createReadyCluster("c", nil)
	var names []string
	for n := range machines {
		names = append(names, fmt.Sprintf("w-%d", n))
		w.createMachine("c", names[n], newVMSpec(), nil)
	}
	w.waitFor("MAAS is asked for VMs", func() string {
		if w.maas.Journal().Count(composeRoute) == 0 {
			return "not yet"
		}
		return ""
	})
	if made := d.rollOut(); made == machines {
		t.Error("all VMs were there before the leader was told to end")
	}
	for _, name := range names {
		w.awaitReady(name)
	}
	if vms, composed := len(w.maas.Instances()), w.maas.Journal().Count(composeRoute); vms != machines || composed != machines {
		t.Errorf("%d machines have %d VMs, for which MAAS was asked %d times", machines, vms, composed)
	}
	if over := w.maas.Overcommits(); len(over) > 0 {
		t.Errorf("over-committed: %v", over)
	}
	for _, name := range names {
		w.deleteObject(w.machineObject(name))
	}
	d.rollOut()
	for _, name := range names {
		w.awaitGone(w.machineObject(name))
	}
	w.deleteCluster(c, before)
}

// deployment is what runs the managers, as processes.
type deployment struct {
	*world
	ctx     context.Context
	running []process // the oldest one first
}

// scale starts managers until there are so many, and waits until one leads.
func (d *deployment) scale(replicas int) {
	d.t.Helper()
	for len(d.running) < replicas {
		p := d.startManager(d.ctx, d.plane.Kubeconfig)
		if p.kill == nil {
			d.t.FailNow()
		}
		d.running = append(d.running, p)
	}
	d.awaitLeader(d.t.Context(), "")
}

// rollOut replaces each manager: a new one starts, and then the oldest one is told to end.
// It returns how many VMs were bound when the leader was told.
func (d *deployment) rollOut() (made int) {
	d.t.Helper()
	made = -1
	for range len(d.running) {
		d.scale(len(d.running) + 1)
		oldest := d.running[0]
		d.running = d.running[1:]
		if made < 0 {
			made = d.countBound()
			d.t.Logf("%d VMs were bound when the leader was told to end", made)
		}
		if err := oldest.os.Signal(syscall.SIGTERM); err != nil {
			d.t.Fatal(err)
		}
		select {
		case err := <-oldest.ended:
			if err != nil {
				d.t.Errorf("a manager did not end well: %v", err)
			}
		case <-time.After(waitTimeout):
			d.t.Fatal("a manager does not end")
		}
	}
	return made
}

// countBound counts the machines whose record has a system id.
func (d *deployment) countBound() (n int) {
	d.t.Helper()
	var list infrav1.MaasMachineList
	if err := d.List(d.t.Context(), &list, client.InNamespace(d.namespace)); err != nil {
		d.t.Fatal(err)
	}
	for _, m := range list.Items {
		if strings.Contains(m.Annotations[ownership.AttemptAnnotation], `"systemID"`) {
			n++
		}
	}
	return n
}
