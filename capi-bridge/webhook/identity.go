package webhook

import (
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-maasclusteridentity,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=maasclusteridentities,versions=v1beta1,name=validation.maasclusteridentity.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// IdentityValidator validates MaasClusterIdentities.
func IdentityValidator() admission.Validator[*infrav1.MaasClusterIdentity] {
	return ruleValidator[*infrav1.MaasClusterIdentity]{
		kind:  "MaasClusterIdentity",
		spec:  func(i *infrav1.MaasClusterIdentity) any { return i.Spec },
		check: checkIdentity,
		warn:  warnIdentity,
	}
}

func checkIdentity(i *infrav1.MaasClusterIdentity) field.ErrorList {
	at := field.NewPath("spec")
	var errs field.ErrorList
	if err := checkEndpoint(at.Child("endpoint"), i.Spec.Endpoint); err != nil {
		errs = append(errs, err)
	}
	if ref := i.Spec.SecretRef; len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		errs = append(errs, field.Invalid(at.Child("secretRef", "name"), ref.Name, "is not the name of a Secret; name one in the manager's namespace"))
	} else if ref.Namespace != "" && len(validation.IsDNS1123Label(ref.Namespace)) > 0 {
		errs = append(errs, field.Invalid(at.Child("secretRef", "namespace"), ref.Namespace, "is not the name of a namespace; leave it out to use the manager's own"))
	}
	if err := checkCABundle(at.Child("caBundle"), i.Spec.CABundle); err != nil {
		errs = append(errs, err)
	}
	return append(errs, checkAllowed(at.Child("allowedNamespaces"), i.Spec.AllowedNamespaces)...)
}

func checkAllowed(at *field.Path, allowed *infrav1.AllowedNamespaces) field.ErrorList {
	if allowed == nil {
		return nil
	}
	var errs field.ErrorList
	for i, name := range allowed.List {
		if len(validation.IsDNS1123Label(name)) > 0 {
			errs = append(errs, field.Invalid(at.Child("list").Index(i), name, "is not the name of a namespace; allow all with an empty allowedNamespaces: {}"))
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(allowed.Selector); err != nil {
		errs = append(errs, field.Invalid(at.Child("selector"), allowed.Selector, err.Error()))
	}
	return errs
}

// checkEndpoint requires a URL, without secrets in it.
func checkEndpoint(at *field.Path, text string) *field.Error {
	const example = "; write it like https://maas.example:5443/MAAS"
	link, err := url.Parse(text)
	switch {
	case err != nil:
		return field.Invalid(at, "(unreadable)", "is not a URL"+example)
	case link.User != nil:
		return field.Invalid(at, link.Redacted(), "has a user or password in it; put MAAS's API key into the Secret of secretRef")
	case link.Scheme != "http" && link.Scheme != "https" || link.Host == "":
		return field.Invalid(at, text, "is not a URL of MAAS"+example)
	case link.RawQuery != "" || link.Fragment != "":
		return field.Invalid(at, text, "has more than a path"+example)
	}
	return nil
}

// checkCABundle requires PEM certificates, and nothing else.
func checkCABundle(at *field.Path, text string) *field.Error {
	const none = "(not shown)" // the text may be a key
	found := 0
	for rest := []byte(text); len(strings.TrimSpace(string(rest))) > 0; found++ {
		block, after := pem.Decode(rest)
		switch {
		case block == nil:
			return field.Invalid(at, none, "contains something other than certificates; give only certificates in PEM")
		case block.Type != "CERTIFICATE":
			return field.Invalid(at, none, "contains a "+block.Type+"; give public certificates only")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return field.Invalid(at, none, "contains a certificate that cannot be read; give certificates in PEM")
		}
		rest = after
	}
	if text != "" && found == 0 {
		return field.Invalid(at, none, "contains no certificate; give one in PEM, or leave it out")
	}
	return nil
}

// warnIdentity warns of values that are allowed but seldom meant.
func warnIdentity(i *infrav1.MaasClusterIdentity) admission.Warnings {
	var warnings admission.Warnings
	if strings.HasPrefix(i.Spec.Endpoint, "http://") {
		warnings = append(warnings, "spec.endpoint: others can read and change the traffic with MAAS over http; use https")
	}
	if i.Spec.AllowedNamespaces == nil {
		warnings = append(warnings, "spec.allowedNamespaces: without it no cluster may use the identity; name namespaces, or allow all with {}")
	}
	return warnings
}
