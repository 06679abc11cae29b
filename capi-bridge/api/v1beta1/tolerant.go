package v1beta1

import (
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// storedAsMap is an attribute of a failure domain that was read from a map.
const storedAsMap = "infrastructure.cluster.x-k8s.io/stored-as-map"

// FailureDomains are availability zones of MAAS. In JSON they are a list, as
// the contract demands. UnmarshalJSON also reads the map by name that older
// versions wrote.
//
// Domains that were read from a map carry an attribute for that. So they differ
// from the same domains as the manager finds them, and the manager patches
// them. After that the API server has a list: Cluster API cannot read the map.
//
// +listType=map
// +listMapKey=name
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=100
type FailureDomains []clusterv1.FailureDomain

// UnmarshalJSON reads a list, or a map by name. It sorts the map's domains by
// name.
func (f *FailureDomains) UnmarshalJSON(text []byte) error {
	var list []clusterv1.FailureDomain
	listErr := json.Unmarshal(text, &list)
	if listErr == nil {
		*f = list
		return nil
	}
	var byName map[string]clusterv1.FailureDomain
	if json.Unmarshal(text, &byName) != nil {
		return listErr
	}
	*f = make(FailureDomains, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		domain := byName[name]
		domain.Name = name
		domain.Attributes = maps.Clone(domain.Attributes)
		if domain.Attributes == nil {
			domain.Attributes = map[string]string{}
		}
		domain.Attributes[storedAsMap] = "true"
		*f = append(*f, domain)
	}
	return nil
}

// Conditions are the conditions of an object. Older versions wrote some without
// a reason, which the API server refuses to store. Those get UnspecifiedReason.
//
// +listType=map
// +listMapKey=type
// +kubebuilder:validation:MaxItems=32
type Conditions []metav1.Condition

// UnmarshalJSON reads conditions, and sets a reason where one is missing.
func (c *Conditions) UnmarshalJSON(text []byte) error {
	var list []metav1.Condition
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for i := range list {
		if list[i].Reason == "" {
			list[i].Reason = UnspecifiedReason
		}
	}
	*c = list
	return nil
}
