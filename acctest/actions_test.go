package acctest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// invokeAction calls an action over the provider's protocol, as a CLI of 1.14
// or newer does. It returns the progress messages, and the errors as one text.
func (x *target) invokeAction(t *testing.T, action string, config map[string]any) (progress []string, failure string) {
	t.Helper()
	return invokeActionWith(t, x.providerSettings(t), action, config)
}

// invokeActionWith is invokeAction with these settings of the provider. The
// progress messages include warnings.
func invokeActionWith(t *testing.T, settings map[string]any, action string, config map[string]any) (progress []string, failure string) {
	t.Helper()
	server, schemas := configureProvider(t, settings)
	actions, ok := server.(tfprotov6.ActionServer)
	if !ok {
		t.Fatal("the provider serves no actions")
	}
	whole := fullConfig(t, schemas.ActionSchemas[action].Schema, config)
	valid, err := actions.ValidateActionConfig(t.Context(), &tfprotov6.ValidateActionConfigRequest{ActionType: action, Config: whole})
	if err != nil {
		t.Fatal(err)
	}
	if failure := diagnosticTexts(valid.Diagnostics); failure != "" {
		return nil, failure
	}
	stream, err := actions.InvokeAction(t.Context(), &tfprotov6.InvokeActionRequest{ActionType: action, Config: whole})
	if err != nil {
		t.Fatal(err)
	}
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			isWarning := func(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityWarning }
			for _, d := range e.Diagnostics {
				if isWarning(d) {
					progress = append(progress, d.Summary+"\n"+d.Detail)
				}
			}
			failure = diagnosticTexts(slices.DeleteFunc(e.Diagnostics, isWarning))
		}
	}
	return progress, failure
}

// providerSettings are the attributes of the provider block for the target.
func (x *target) providerSettings(t *testing.T) map[string]any {
	t.Helper()
	settings := map[string]any{"api_url": x.url, "api_key": x.key, "poll_interval": x.pollInterval(), "ledger": "memory", "owner": "tf-acc"}
	if isLXDColumn() {
		key, err := fleetKey()
		if err != nil {
			t.Fatal(err)
		}
		settings["lxd_client_cert"], settings["lxd_client_key"] = key.Certificate, key.Credentials.Key
		if x.hostKeyPair != nil { // the pair that the hosts of the test trust
			settings["lxd_client_cert"], settings["lxd_client_key"] = x.hostKeyPair().Certificate, x.hostKeyPair().Key
		}
	}
	return settings
}

// configuredProvider returns the provider, configured for the target, and its
// schemas.
func (x *target) configuredProvider(t *testing.T) (tfprotov6.ProviderServer, *tfprotov6.GetProviderSchemaResponse) {
	t.Helper()
	return configureProvider(t, x.providerSettings(t))
}

// configureProvider returns the provider with these settings, and its schemas.
func configureProvider(t *testing.T, settings map[string]any) (tfprotov6.ProviderServer, *tfprotov6.GetProviderSchemaResponse) {
	t.Helper()
	server, err := providers["maaslxd"]()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
		TerraformVersion: "1.16.0", Config: fullConfig(t, schemas.Provider, settings),
	})
	if err != nil || len(answer.Diagnostics) > 0 {
		t.Fatalf("%v %v", err, answer)
	}
	return server, schemas
}

// fullConfig is a configuration in which all other attributes are null.
func fullConfig(t *testing.T, schema *tfprotov6.Schema, said map[string]any) *tfprotov6.DynamicValue {
	t.Helper()
	object, isObject := schema.ValueType().(tftypes.Object)
	if !isObject {
		t.Fatalf("the schema is a %s", schema.ValueType())
	}
	all := map[string]any{}
	for name := range object.AttributeTypes {
		all[name] = said[name]
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return &tfprotov6.DynamicValue{JSON: raw}
}

// diagnosticTexts are the texts of all diagnostics, one after the other.
func diagnosticTexts(all []*tfprotov6.Diagnostic) string {
	var lines []string
	for _, d := range all {
		if d.Attribute != nil {
			lines = append(lines, d.Attribute.String())
		}
		lines = append(lines, d.Summary, d.Detail)
	}
	return strings.Join(lines, "\n")
}

// TestAccActionPower turns a VM off, on, and off and on again, by its hostname
// and by its system id. Its configuration sees no change.
func TestAccActionPower(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	needBoots(t)
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name, x.deploy())))
	w.run(t, "apply", "-auto-approve", "-no-color")
	machine := x.findMachine(t, name)
	for _, step := range []struct{ by, power, after string }{
		{x.siteNameOf(t, name), "off", "off"}, {machine.SystemID, "on", "on"}, {machine.SystemID, "cycle", "on"}, {x.siteNameOf(t, name), "on", "on"},
	} {
		progress, failure := x.invokeAction(t, "maaslxd_power", map[string]any{"machine": step.by, "power": step.power})
		if failure != "" || len(progress) == 0 || !strings.Contains(progress[0], machine.SystemID) {
			t.Fatalf("power %s: %q, and says %q", step.power, failure, progress)
		}
		x.waitUntil(t, name+" is "+step.after, func() bool { return x.findMachine(t, name).PowerState == step.after })
		if all := x.instances(); x.canInspectLXDs() && (len(all) != 1 || all[0].Running != (step.after == "on")) {
			t.Errorf("after power %s: %+v", step.power, all)
		}
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccActionCommission commissions a machine again, and refuses a deployed
// one.
func TestAccActionCommission(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, slowTransitions)
	w := newWorkspace(t, x.config(machineOnNode1()))
	var progress []string
	commission := func() (failure string) {
		progress, failure = x.invokeAction(t, "maaslxd_commission", map[string]any{"machine": x.siteNameOf(t, "node1")})
		return failure
	}
	if failure := commission(); failure != "" {
		t.Fatal(failure)
	}
	if said := strings.Join(progress, "\n"); !wordsPattern(`commissioning (` + x.findMachine(t, "node1").SystemID + `): Commissioning left`).MatchString(said) {
		t.Errorf("want the phases and the time left, got %q", progress)
	}
	if m := x.findMachine(t, "node1"); m.StatusName != "Ready" {
		t.Errorf("it is %s", m.StatusName)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	if failure := commission(); !wordsPattern(`Cannot commission machine is Deployed, and cannot be commissioned while admin owns it Release the machine first`).MatchString(failure) {
		t.Errorf("want a refusal, got %q", failure)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccActionRescue takes a machine into rescue mode and out of it, each
// twice.
func TestAccActionRescue(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for _, step := range []struct{ rescue, after string }{{"enter", "Rescue mode"}, {"enter", "Rescue mode"}, {"exit", "Deployed"}, {"exit", "Deployed"}} {
		if _, failure := x.invokeAction(t, "maaslxd_rescue", map[string]any{"machine": x.siteNameOf(t, "node1"), "rescue": step.rescue}); failure != "" {
			t.Fatalf("%s: %s", step.rescue, failure)
		}
		if m := x.findMachine(t, "node1"); m.StatusName != step.after {
			t.Errorf("after %s it is %s", step.rescue, m.StatusName)
		}
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccActionRedeploy redeploys a VM with other user-data. Its configuration
// sees no change. A VM that was released before needs an image.
func TestAccActionRedeploy(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	needBoots(t)
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name, x.deploy(), `annotations = { team = "blue" }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, name)
	redeploy := func(config map[string]any) string {
		config["machine"] = x.siteNameOf(t, name)
		_, failure := x.invokeAction(t, "maaslxd_redeploy", config)
		return failure
	}
	if failure := redeploy(map[string]any{"user_data": "#cloud-config\npackages: [caddy]\n", "kernel": "hwe-24.04"}); failure != "" {
		t.Fatal(failure)
	}
	if got := x.kernelOf(t, name); got != "hwe-24.04" {
		t.Errorf("the kernel is %q", got)
	}
	x.wantUserData(t, name, "caddy")
	w.wantEmptyPlan(t)
	now := x.findMachine(t, name)
	if now.SystemID != made.SystemID || now.StatusName != "Deployed" || now.OwnerData["team"] != "blue" {
		t.Errorf("it is %s, %s, with the annotations %v", now.SystemID, now.StatusName, now.OwnerData)
	}
	if failure := redeploy(map[string]any{"image": "ubuntu/mars"}); !wordsPattern(`Cannot redeploy VM image ubuntu/mars`).MatchString(failure) {
		t.Errorf("want a refusal of the image, got %q", failure)
	}
	if got := x.statusOf(name); got != "Deployed" {
		t.Errorf("a redeployment that was refused left it %s", got)
	}
	w.wantEmptyPlan(t)
	x.postForm(t, "machines/"+made.SystemID+"/?op=release", nil)
	x.waitUntil(t, name+" is Ready", func() bool { return x.statusOf(name) == "Ready" })
	if failure := redeploy(map[string]any{}); !wordsPattern(`is Ready, but only a Deployed VM can be redeployed`).MatchString(failure) {
		t.Errorf("want a refusal of what somebody released, got %q", failure)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccActionRefresh makes MAAS read a VM host again after an instance was
// removed in LXD. The instance's machine leaves MAAS.
func TestAccActionRefresh(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	if isLXDColumn() {
		_, failure := x.invokeAction(t, "maaslxd_vm_host_refresh", map[string]any{"vm_host": "lxd1"})
		if !wordsPattern(`MAAS stores no inventory of VM host lxd1 nothing to refresh`).MatchString(failure) {
			t.Errorf("want a refusal, got %q", failure)
		}
		return
	}
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for _, i := range x.instances() {
		x.removeInstance(t, i)
	}
	if _, failure := x.invokeAction(t, "maaslxd_vm_host_refresh", map[string]any{"vm_host": "lxd1"}); failure != "" {
		t.Fatal(failure)
	}
	if err := x.checkVMGone(name)(nil); err != nil {
		t.Error(err)
	}
	if got := joinActions(w.planActions(t)); got != "create" {
		t.Errorf("the plan wants %s", got)
	}
}

// TestAccActionBadInput wants one clear error for each case, and no change.
func TestAccActionBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, action string
		config         map[string]any
		want           string
	}{
		"Power":       {"The action has three values for power.", "maaslxd_power", map[string]any{"machine": "node1", "power": "reset"}, `power value must be one of "on" "off" "cycle"`},
		"NoPower":     {"The action needs a value for power.", "maaslxd_power", map[string]any{"machine": "node1", "power": nil}, `power required`},
		"NoMachine":   {"An empty name names no machine.", "maaslxd_power", map[string]any{"machine": "", "power": "on"}, `Invalid machine It is empty`},
		"Unknown":     {"MAAS has no machine of this name.", "maaslxd_power", map[string]any{"machine": "mars", "power": "on"}, `Cannot turn machine mars on MAAS knows no such machine`},
		"Nobodys":     {"MAAS turns on only machines that have an owner.", "maaslxd_power", map[string]any{"machine": "node1", "power": "on"}, `cannot turn node1 on`},
		"Time":        {"A duration needs a unit.", "maaslxd_power", map[string]any{"machine": "node1", "power": "on", "timeouts": map[string]any{"invoke": "10"}}, `must be a string containing a sequence of decimal numbers`},
		"Commission":  {"Only a machine in MAAS can be commissioned.", "maaslxd_commission", map[string]any{"machine": "mars"}, `Cannot commission machine mars MAAS knows no such machine`},
		"Rescue":      {"The action only enters or exits rescue mode.", "maaslxd_rescue", map[string]any{"machine": "node1", "rescue": "leave"}, `rescue value must be one of "enter" "exit"`},
		"Redeploy":    {"Only a VM in MAAS can be redeployed.", "maaslxd_redeploy", map[string]any{"machine": "mars"}, `Cannot redeploy VM mars MAAS knows no such machine`},
		"NotOurs":     {"The action redeploys only VMs of this owner.", "maaslxd_redeploy", map[string]any{"machine": "node1"}, `carries no mark of this owner`},
		"NoImage":     {"An empty name names no image.", "maaslxd_redeploy", map[string]any{"machine": "node1", "image": ""}, `Invalid image "" is not the name of an image`},
		"UnknownHost": {"MAAS has no VM host of this name.", "maaslxd_vm_host_refresh", map[string]any{"vm_host": "mars"}, `vm_host: MAAS knows no VM host "mars"`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t, addBareMetal, func(m *sim.Model) { m.Latency = sim.Latency{} })
			x.sim.ResetJournal()
			_, failure := x.invokeAction(t, tc.action, tc.config)
			if !wordsPattern(tc.want).MatchString(failure) {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, failure)
			}
			for route, n := range countChanges(x.sim.Journal()) {
				if !strings.HasSuffix(route, "power_on") {
					t.Errorf("%s was called %d times", route, n)
				}
			}
		})
	}
}

// TestAccActionCLI makes the CLI invoke an action, where the CLI has actions.
func TestAccActionCLI(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	needBoots(t)
	name := x.name()
	vm := x.vm(name, x.deploy())
	w := newWorkspace(t, x.config(vm))
	w.needsCLI114(t)
	w.configure(t, x.config(vm+fmt.Sprintf("action \"maaslxd_power\" \"off\" {\n  config {\n    machine = %s.id\n    power   = \"off\"\n  }\n}\n", vmAddress)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "apply", "-auto-approve", "-no-color", "-invoke=action.maaslxd_power.off")
	x.waitUntil(t, name+" is off", func() bool { return x.findMachine(t, name).PowerState == "off" })
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// needsCLI114 skips a test whose CLI has neither actions nor queries.
func (w workspace) needsCLI114(t *testing.T) {
	t.Helper()
	if w.cli.IsTofu() || w.cli.IsOlderThan(1, 14) {
		t.Skip("actions and queries came with Terraform 1.14, and this is " + w.cli.String())
	}
}
