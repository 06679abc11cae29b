package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-maasmachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=maasmachinetemplates,versions=v1beta1,name=validation.maasmachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// MachineTemplateValidator validates MaasMachineTemplates.
func MachineTemplateValidator() admission.Validator[*infrav1.MaasMachineTemplate] {
	at := field.NewPath("spec", "template", "spec")
	return ruleValidator[*infrav1.MaasMachineTemplate]{
		kind:   "MaasMachineTemplate",
		spec:   func(t *infrav1.MaasMachineTemplate) any { return t.Spec },
		check:  checkMachineTemplate,
		change: checkTemplateImmutable[*infrav1.MaasMachineTemplate],
		warn: func(t *infrav1.MaasMachineTemplate) admission.Warnings {
			warnings := warnMachine(at, t.Spec.Template.Spec)
			if ip := t.Spec.Template.Spec.StaticIP; ip != nil && ip.IP != "" {
				warnings = append(warnings, at.Child("staticIP").String()+
					": every machine of the template gets this address, and only one can have it at a time; a roll-out must delete a machine before it creates one")
			}
			return warnings
		},
	}
}

func checkMachineTemplate(t *infrav1.MaasMachineTemplate) field.ErrorList {
	at := field.NewPath("spec", "template")
	spec := &t.Spec.Template.Spec
	errs := checkMachineSpec(at.Child("spec"), spec)
	const single = "a template makes several machines, and this value belongs to one; leave it out, and the manager sets it"
	if spec.ProviderID != nil {
		errs = append(errs, field.Forbidden(at.Child("spec", "providerID"), single))
	}
	if spec.SystemID != nil {
		errs = append(errs, field.Forbidden(at.Child("spec", "systemID"), single))
	}
	return append(errs, checkTemplateMeta(at.Child("metadata"), t.Spec.Template.ObjectMeta)...)
}

// checkTemplateMeta refuses invalid labels. It also refuses annotations that
// would make each object of the template look like one with a machine.
func checkTemplateMeta(at *field.Path, meta clusterv1.ObjectMeta) field.ErrorList {
	errs := meta.Validate(at)
	for _, name := range slices.Sorted(maps.Keys(meta.Annotations)) {
		if strings.HasPrefix(name, infrav1.AnnotationPrefix) {
			errs = append(errs, field.Forbidden(at.Child("annotations").Key(name), "it belongs to one object, and a template makes several; leave it out"))
		}
	}
	return errs
}

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-maasclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=maasclustertemplates,versions=v1beta1,name=validation.maasclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// ClusterTemplateValidator validates MaasClusterTemplates.
func ClusterTemplateValidator() admission.Validator[*infrav1.MaasClusterTemplate] {
	at := field.NewPath("spec", "template")
	return ruleValidator[*infrav1.MaasClusterTemplate]{
		kind: "MaasClusterTemplate",
		spec: func(t *infrav1.MaasClusterTemplate) any { return t.Spec },
		check: func(t *infrav1.MaasClusterTemplate) field.ErrorList {
			return append(checkClusterSpec(at.Child("spec"), &t.Spec.Template.Spec), checkTemplateMeta(at.Child("metadata"), t.Spec.Template.ObjectMeta)...)
		},
		change: checkTemplateImmutable[*infrav1.MaasClusterTemplate],
	}
}

// checkTemplateImmutable refuses any change, except in the dry runs by which
// Cluster API finds out whether it needs another template.
func checkTemplateImmutable[T client.Object](ctx context.Context, _, after T) (field.ErrorList, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot find out whether this is a dry run: %w", err)
	}
	if topology.IsDryRunRequest(request, after) {
		return nil, nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"),
		"a template cannot change, because machines and clusters were made from it; create another template, and refer to that")}, nil
}
