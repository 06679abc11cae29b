package webhook

import (
	"context"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-maascluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=maasclusters,versions=v1beta1,name=validation.maascluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// ClusterValidator validates MaasClusters.
func ClusterValidator() admission.Validator[*infrav1.MaasCluster] {
	at := field.NewPath("spec")
	return ruleValidator[*infrav1.MaasCluster]{
		kind:  "MaasCluster",
		spec:  func(c *infrav1.MaasCluster) any { return c.Spec },
		check: func(c *infrav1.MaasCluster) field.ErrorList { return checkClusterSpec(at, &c.Spec) },
		change: func(_ context.Context, before, after *infrav1.MaasCluster) (field.ErrorList, error) {
			return checkClusterChange(at, before.Spec, after.Spec), nil
		},
	}
}

func checkClusterSpec(at *field.Path, spec *infrav1.MaasClusterSpec) field.ErrorList {
	_, errs := spec.ResolveHosts(at)
	if len(validation.IsDNS1123Subdomain(spec.DNSDomain)) > 0 {
		errs = append(errs, field.Invalid(at.Child("dnsDomain"), spec.DNSDomain, "is not a domain; name one that MAAS has, such as maas or k8s.example.com"))
	}
	if host := spec.ControlPlaneEndpoint.Host; host != "" && !isHost(host) {
		errs = append(errs, field.Invalid(at.Child("controlPlaneEndpoint", "host"), host, "is neither a name nor an address; write it without a scheme and a port"))
	}
	seen := map[string]bool{}
	for i, zone := range spec.FailureDomains {
		if seen[zone] {
			errs = append(errs, field.Duplicate(at.Child("failureDomains").Index(i), zone))
		}
		seen[zone] = true
	}
	for i, subnet := range spec.PreferredSubnets {
		if _, err := netip.ParsePrefix(subnet); err != nil && strings.Contains(subnet, "/") {
			errs = append(errs, field.Invalid(at.Child("preferredSubnets").Index(i), subnet, "is not a subnet; write its CIDR, such as 10.0.0.0/24, or its name in MAAS"))
		}
	}
	if ref := spec.IdentityRef; ref != nil && len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		errs = append(errs, field.Invalid(at.Child("identityRef", "name"), ref.Name, "is not the name of an object; name a MaasClusterIdentity, or leave out identityRef"))
	}
	return errs
}

// isHost reports whether the text is an IP address or a DNS name.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || len(validation.IsDNS1123Subdomain(text)) == 0
}

// checkClusterChange refuses changes of fields that running machines depend on.
func checkClusterChange(at *field.Path, before, after infrav1.MaasClusterSpec) field.ErrorList {
	var errs field.ErrorList
	if before.DNSDomain != after.DNSDomain {
		errs = append(errs, field.Forbidden(at.Child("dnsDomain"), "it cannot change, because the machines of the cluster know its API by a name in it; make a new cluster"))
	}
	if before.ControlPlaneEndpoint.IsValid() && before.ControlPlaneEndpoint != after.ControlPlaneEndpoint {
		errs = append(errs, field.Forbidden(at.Child("controlPlaneEndpoint"), "it cannot change, because the machines of the cluster know its API by this endpoint; make a new cluster"))
	}
	if !equality.Semantic.DeepEqual(before.IdentityRef, after.IdentityRef) {
		errs = append(errs, field.Forbidden(at.Child("identityRef"),
			"it cannot change, because the cluster's machines are in this MAAS; change the endpoint or the Secret of the MaasClusterIdentity"))
	}
	return errs
}
