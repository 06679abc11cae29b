package acctest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// registerRoute is the call after which MAAS has the host.
func registerRoute() string {
	if isLXDColumn() {
		return "POST tags/{name}/ update_nodes"
	}
	return "POST vm-hosts/"
}

// TestAccHostKilled kills a run in each phase of a host's life. The next run
// must go on: one deployment, one VM host, and nothing left at the end.
func TestAccHostKilled(t *testing.T) {
	t.Parallel()
	phases := map[string]struct {
		reason string
		verb   string
		brief  bool // too short to be seen on a real MAAS
		reach  func(x *metalTarget, t *testing.T)
	}{
		"Allocated": {
			reason: "Only the mark on the allocated machine tells of the killed run.", verb: "apply", brief: true,
			reach: func(x *metalTarget, t *testing.T) { x.awaitCall(t, "POST machines/ allocate") },
		},
		"Deploying": {
			reason: "MAAS continues the deployment after the run is killed.", verb: "apply",
			// The machine is Deploying before the call is answered, and so
			// before the call is counted.
			reach: func(x *metalTarget, t *testing.T) {
				if x.sim == nil {
					x.actAtStatus(t, "node1", "Deploying", func(sim.Machine) {})
					return
				}
				x.waitUntil(t, "the deployment is answered", func() bool { n, _ := x.countDeployments(); return n == 1 })
			},
		},
		"Registered": {
			reason: "MAAS may have registered the VM host, but the run is killed before it learns the id.", verb: "apply", brief: true,
			reach: func(x *metalTarget, t *testing.T) { x.awaitCall(t, registerRoute()) },
		},
		"Unregistered": {
			reason: "The run is killed before it releases the machine.", verb: "destroy", brief: true,
			reach: func(x *metalTarget, t *testing.T) { x.awaitCall(t, "DELETE vm-hosts/{id}/") },
		},
	}
	for phase, tc := range phases {
		for who, kill := range killFunctions {
			t.Run(phase+"/"+who, func(t *testing.T) {
				t.Parallel()
				if isOnSite() && tc.brief {
					t.Skip("runs only on the simulator: " + siteTooBrief)
				}
				x := newMetalTarget(t, slowTransitions, func(m *sim.Model) { m.Latency.Inventory, m.Latency.Release = 2*time.Second, 2*time.Second })
				t.Log(tc.reason)
				w := newWorkspace(t, x.config(hostOnNode1()))
				if tc.verb == "destroy" {
					w.run(t, "apply", "-auto-approve", "-no-color")
				}
				x.holdMachine("node1")
				cmd, out := w.command(t.Context(), tc.verb, "-auto-approve", "-no-color")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				tc.reach(x, t)
				if err := kill(cmd); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil {
					t.Fatalf("the run ended well before it was killed:\n%s", out)
				}
				x.resumeMachines("node1")
				if tc.verb == "apply" {
					if out := w.run(t, "plan", "-no-color"); strings.Contains(out, "Cannot create VM host") {
						t.Errorf("%s\nthe apply continues, and the plan says that it cannot:\n%s", tc.reason, out)
					}
					w.run(t, "apply", "-auto-approve", "-no-color")
					if n, counted := x.countDeployments(); counted && n != 1 || w.status(t) != "Deployed" {
						t.Errorf("%s\nit is %s after %d deployments", tc.reason, w.status(t), n)
					}
					if got := x.listVMHosts(t); len(got) != 1 || slices.ContainsFunc(got[0].Tags, func(tag string) bool { return tag != "pod-console-logging" }) {
						t.Errorf("%s\nwant one VM host without marks, got %+v", tc.reason, got)
					}
				}
				w.run(t, "destroy", "-auto-approve", "-no-color")
				if err := x.checkReady("node1", "node2", "small")(nil); err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
			})
		}
	}
}

// TestAccHostGoneBeforeDestroy wants a destroy without an error where the
// machine is already gone.
func TestAccHostGoneBeforeDestroy(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.forgetVMHost(t, "kvm1")
	if err := x.simulatorOrSkip().DeleteMachine(x.findMachine(t, "node1").SystemID); err != nil {
		t.Fatal(err)
	}
	w.run(t, "destroy", "-refresh=false", "-auto-approve", "-no-color")
	if out := w.run(t, "state", "list"); out != "" {
		t.Errorf("the state still has %s", out)
	}
}

// TestAccHostMoved takes over a VM host of Canonical's provider, whose state
// has its id in MAAS, and finds its machine.
func TestAccHostMoved(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	maker := newWorkspace(t, x.config(vmHost("made", `machine = "node1"`)))
	maker.run(t, "apply", "-auto-approve", "-no-color")
	x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
	server := providerserver.NewProtocol6(provider.New("acctest")())()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	block := map[string]tftypes.Value{}
	types := schemas.Provider.ValueType().(tftypes.Object)
	for name, ty := range types.AttributeTypes {
		block[name] = tftypes.NewValue(ty, nil)
	}
	block["api_url"], block["api_key"] = tftypes.NewValue(tftypes.String, x.url), tftypes.NewValue(tftypes.String, x.key)
	config, err := tfprotov6.NewDynamicValue(types, tftypes.NewValue(types, block))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &config}); err != nil || len(got.Diagnostics) > 0 {
		t.Fatal(got, err)
	}
	moved, err := server.MoveResourceState(t.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: "registry.terraform.io/canonical/maas", SourceTypeName: "maas_vm_host", TargetTypeName: "maaslxd_vm_host",
		SourceState: &tfprotov6.RawState{JSON: []byte(`{"id":"1","type":"lxd","machine":"node1","zone":"default"}`)},
	})
	if err != nil || len(moved.Diagnostics) > 0 {
		t.Fatal(moved, err)
	}
	read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "maaslxd_vm_host", CurrentState: moved.TargetState, Private: moved.TargetPrivate,
	})
	if err != nil || len(read.Diagnostics) > 0 {
		t.Fatal(read, err)
	}
	state, err := read.NewState.Unmarshal(schemas.ResourceSchemas["maaslxd_vm_host"].ValueType())
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]tftypes.Value
	if err := state.As(&values); err != nil {
		t.Fatal(err)
	}
	for attribute, want := range map[string]string{"id": x.findMachine(t, "node1").SystemID, "name": "made", "machine": "node1", "status": "Deployed"} {
		var got string
		if err := values[attribute].As(&got); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", attribute, got, want, err)
		}
	}
}
