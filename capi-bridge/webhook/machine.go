package webhook

import (
	"context"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine/providerid"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-maasmachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=maasmachines,versions=v1beta1,name=validation.maasmachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// MachineValidator validates MaasMachines.
func MachineValidator() admission.Validator[*infrav1.MaasMachine] {
	return ruleValidator[*infrav1.MaasMachine]{
		kind:  "MaasMachine",
		spec:  func(m *infrav1.MaasMachine) any { return m.Spec },
		check: checkMachine,
		change: func(_ context.Context, before, after *infrav1.MaasMachine) (field.ErrorList, error) {
			return checkMachineChange(before.Spec, after.Spec), nil
		},
		warn: func(m *infrav1.MaasMachine) admission.Warnings {
			return warnMachine(field.NewPath("spec"), m.Spec)
		},
	}
}

func checkMachine(m *infrav1.MaasMachine) field.ErrorList {
	at := field.NewPath("spec")
	errs := checkMachineSpec(at, &m.Spec)
	errs = append(errs, checkProviderID(at, m.Spec)...)
	if name, ok := m.Annotations[infrav1.VMNameAnnotation]; ok && len(validation.IsDNS1123Label(name)) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations").Key(infrav1.VMNameAnnotation), name,
			"is not a valid VM name; use up to 63 lower-case letters, digits and hyphens, or leave it out"))
	}
	return errs
}

// checkMachineSpec refuses contradictions, and NICs without an address.
func checkMachineSpec(at *field.Path, spec *infrav1.MaasMachineSpec) field.ErrorList {
	want, errs := spec.Resolve(at)
	if want.VM == nil {
		return errs
	}
	for _, nic := range want.VM.Interfaces {
		if nic.Mode == infrav1.LinkUp {
			errs = append(errs, field.Invalid(at.Child("lxdConfig", "network"), string(nic.Mode),
				"MAAS gives each NIC of a VM an address after commissioning; leave out the mode of "+nic.Name))
		}
	}
	return errs
}

// checkProviderID requires a providerID that names the machine of systemID.
func checkProviderID(at *field.Path, spec infrav1.MaasMachineSpec) field.ErrorList {
	if spec.ProviderID == nil {
		return nil
	}
	id, err := providerid.Parse(*spec.ProviderID)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(at.Child("providerID"), *spec.ProviderID,
			"names no machine of MAAS; leave it out, and the manager sets it. Or write maas://<zone>/<system id> or maas-lxd://<zone>/<system id>")}
	case spec.SystemID != nil && *spec.SystemID != id.SystemID:
		return field.ErrorList{field.Invalid(at.Child("systemID"), *spec.SystemID,
			"contradicts providerID, which names machine "+id.SystemID+"; leave it out, or correct one of them")}
	}
	return nil
}

// checkMachineChange refuses changes of fields that the machine was made from.
func checkMachineChange(before, after infrav1.MaasMachineSpec) field.ErrorList {
	var errs field.ErrorList
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range was.NumField() {
		name, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
		if !canSet(name, before) && !equality.Semantic.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			errs = append(errs, field.Forbidden(field.NewPath("spec", name), immutableMessage(name)))
		}
	}
	return errs
}

// canSet reports whether the field of a machine may be set after the machine
// was made.
func canSet(name string, before infrav1.MaasMachineSpec) bool {
	switch name {
	case "providerID":
		return before.ProviderID == nil
	case "systemID":
		return before.SystemID == nil
	case "failureDomain":
		return before.FailureDomain == nil || *before.FailureDomain == ""
	case "staticIP":
		return before.ProviderID == nil
	}
	return false
}

func immutableMessage(name string) string {
	switch name {
	case "providerID", "systemID":
		return "it is set once, because the machine is known by it; delete the Machine to get another one"
	case "failureDomain":
		return "a machine stays in its zone; delete the Machine to get one in another zone"
	case "staticIP":
		return "it cannot change once providerID is set; delete the Machine to get one with another address"
	}
	return "a machine is made once; give the control plane or MachineDeployment a new MaasMachineTemplate instead"
}

// warnMachine warns of fields that have no effect.
func warnMachine(at *field.Path, spec infrav1.MaasMachineSpec) admission.Warnings {
	var warnings admission.Warnings
	for _, name := range spec.StaticIP.IgnoredFields(at.Child("staticIP")) {
		warnings = append(warnings, name+" has no effect: MAAS uses the subnet's value; set it in MAAS")
	}
	if spec.LXD == nil || spec.LXD.VMConfig == nil {
		return warnings
	}
	if on := spec.LXD.VMConfig.AutoStart; on != nil && !*on {
		warnings = append(warnings, at.Child("lxd", "vmConfig", "autoStart").String()+
			": false has no effect: MAAS switches a machine on when it deploys it")
	}
	return warnings
}
