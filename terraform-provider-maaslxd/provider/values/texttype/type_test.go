package texttype

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	_ basetypes.StringTypable                    = Type[image]{}
	_ basetypes.StringValuableWithSemanticEquals = Value[image]{}
	_ xattr.ValidateableAttribute                = Value[image]{}
)

var hugeText = strings.Repeat("x", 1<<20)

// TestSemanticEquality: two spellings of one value are equal. The texts are compared as the
// framework does it.
func TestSemanticEquality(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		of     attr.Type
		a, b   string
		want   bool
	}{
		"Image":              {"A short name matches an image.", ImageType, "noble", "ubuntu/noble", true},
		"ImageOfOthers":      {"The engine also finds a custom image by its short name.", ImageType, "mine", "custom/mine", true},
		"ImageOfTwo":         {"Two images may have one short name.", ImageType, "ubuntu/noble", "custom/noble", false},
		"ImageEnd":           {"The end of a word is not a short name.", ImageType, "oble", "ubuntu/noble", false},
		"ImageCase":          {"In MAAS, the two names belong to different images.", ImageType, "Noble", "ubuntu/noble", false},
		"ImageEmpty":         {"An empty name matches nothing.", ImageType, "", "ubuntu/noble", false},
		"ImageHuge":          {"A huge name is compared like any other.", ImageType, hugeText, "custom/" + hugeText, true},
		"Address":            {"Scheme and port have defaults.", AddressType, "10.0.0.5", "https://10.0.0.5:8443", true},
		"AddressSlash":       {"Scheme, port and path have defaults, and hosts have no case.", AddressType, "https://kvm1:8443/", "KVM1", true},
		"AddressPort":        {"Two ports belong to two LXDs.", AddressType, "10.0.0.5:8444", "10.0.0.5", false},
		"AddressIPv6":        {"IPv6 has many spellings.", AddressType, "https://[FD00:0:0::5]:8443", "fd00::5", true},
		"AddressEmpty":       {"An empty text is not an address.", AddressType, "", "10.0.0.5", false},
		"AddressHuge":        {"A huge address is compared like any other.", AddressType, hugeText, "https://" + hugeText + ":8443", true},
		"IP":                 {"IPv6 has many spellings.", IPType, "FD00:0::0010", "fd00::10", true},
		"IPOther":            {"These are two addresses.", IPType, "10.0.0.1", "10.0.0.2", false},
		"IPMapped":           {"An IPv4-mapped address belongs to IPv6.", IPType, "::ffff:10.0.0.1", "10.0.0.1", false},
		"IPHuge":             {"A text that is not an address equals only itself.", IPType, hugeText, hugeText + "x", false},
		"Prefix":             {"IPv6 has many spellings.", PrefixType, "FD42:0::1/64", "fd42::1/64", true},
		"PrefixLength":       {"Two prefix lengths make two values.", PrefixType, "10.0.0.1/24", "10.0.0.1/25", false},
		"PrefixNone":         {"The word none equals only itself.", PrefixType, "none", "10.0.0.1/24", false},
		"Subnet":             {"A CIDR has many spellings.", SubnetType, "FD00:0::/64", "fd00::/64", true},
		"SubnetOther":        {"These are two subnets.", SubnetType, "10.0.0.0/24", "10.0.0.0/25", false},
		"SubnetName":         {"Only MAAS knows the CIDR of a name.", SubnetType, "lan", "10.0.0.0/24", false},
		"SubnetNameSame":     {"Equal names are the same subnet.", SubnetType, "lan", "lan", true},
		"SubnetNameOtherWay": {"The name of a subnet has only one spelling.", SubnetType, "lan", "LAN", false},
		"SubnetCalledSo":     {"A subnet may be named like an address with its prefix.", SubnetType, "10.0.0.5/24", "10.0.0.0/24", false},
		"SubnetHuge":         {"A huge name is compared like any other.", SubnetType, hugeText, hugeText, true},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			a, b := valueOf(t, tc.of, tc.a), valueOf(t, tc.of, tc.b)
			for _, pair := range [][2]basetypes.StringValuableWithSemanticEquals{{a, b}, {b, a}} {
				if got, diags := pair[0].StringSemanticEquals(t.Context(), pair[1]); got != tc.want || diags.HasError() {
					t.Errorf("%s\nequal: %t, want %t: %v", tc.reason, got, tc.want, diags)
				}
			}
			if a.Equal(b) != (tc.a == tc.b) {
				t.Errorf("equal as texts: %t", a.Equal(b))
			}
		})
	}
}

// valueOf makes a value as the framework does.
func valueOf(t *testing.T, of attr.Type, text any) basetypes.StringValuableWithSemanticEquals {
	t.Helper()
	v, err := of.ValueFromTerraform(t.Context(), tftypes.NewValue(tftypes.String, text))
	if err != nil {
		t.Fatal(err)
	}
	value, ok := v.(basetypes.StringValuableWithSemanticEquals)
	if !ok || !v.Type(t.Context()).Equal(of) {
		t.Fatalf("%T is no value of %s", v, of)
	}
	return value
}

// TestSameAbsent: null and unknown mean no value.
func TestSameAbsent(t *testing.T) {
	t.Parallel()
	null, unknown, known := Image{}, ImageType.NewUnknown(), ImageType.FromText("noble")
	if !null.IsNull() || !ImageType.FromText("").IsNull() || !null.Equal(ImageType.FromText("")) {
		t.Error("the zero value and the value of no text must be null")
	}
	cases := map[string]struct {
		a, b Image
		want bool
	}{
		"Nulls":        {null, null, true},
		"NullKnown":    {null, known, false},
		"NullUnknown":  {null, unknown, false},
		"Unknowns":     {unknown, unknown, false},
		"UnknownKnown": {unknown, known, false},
	}
	for title, tc := range cases {
		if tc.a.MeansSame(tc.b) != tc.want || tc.b.MeansSame(tc.a) != tc.want {
			t.Errorf("%s: want %t", title, tc.want)
		}
	}
	if got, _ := known.StringSemanticEquals(t.Context(), types.StringValue("noble")); got {
		t.Error("a value of another type is equal")
	}
	if ImageType.Equal(SubnetType) || ImageType.Equal(types.StringType) || !ImageType.Equal(ImageType) {
		t.Error("two types are equal")
	}
}

func TestTextValidation(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		of   attr.Type
		text any // nil: null
		want string
	}{
		"Image":             {ImageType, "ubuntu/noble", ""},
		"ImageShort":        {ImageType, "noble", ""},
		"ImageNull":         {ImageType, nil, ""},
		"ImageUnknown":      {ImageType, tftypes.UnknownValue, ""},
		"ImageEmpty":        {ImageType, "", `"" is not the name of an image`},
		"ImageSpace":        {ImageType, "ubuntu noble", "as MAAS lists it"},
		"ImageParts":        {ImageType, "a/b/c", "as MAAS lists it"},
		"ImageHalf":         {ImageType, "ubuntu/", "as MAAS lists it"},
		"ImageHuge":         {ImageType, " " + hugeText, `x"… is not the name`},
		"Address":           {AddressType, "10.0.0.5", ""},
		"AddressURL":        {AddressType, "https://kvm1.example.com:8443/", ""},
		"AddressIPv6":       {AddressType, "[fd00::5]:8443", ""},
		"AddressBareIPv6":   {AddressType, "fd00::5", ""},
		"AddressNull":       {AddressType, nil, ""},
		"AddressUnknown":    {AddressType, tftypes.UnknownValue, ""},
		"AddressEmpty":      {AddressType, "", "is not an address of an LXD server"},
		"AddressPort":       {AddressType, "10.0.0.5:99999", "is not an address of an LXD server"},
		"AddressPath":       {AddressType, "https://10.0.0.5/1.0", "is not an address of an LXD server"},
		"AddressSpace":      {AddressType, "10.0.0.5 ", "is not an address of an LXD server"},
		"AddressUser":       {AddressType, "https://root@10.0.0.5", "is not an address of an LXD server"},
		"AddressHuge":       {AddressType, hugeText + " ", `x"… is not an address`},
		"IP":                {IPType, "fd00::10", ""},
		"IPNull":            {IPType, nil, ""},
		"IPUnknown":         {IPType, tftypes.UnknownValue, ""},
		"IPEmpty":           {IPType, "", "is not an IP address"},
		"IPMask":            {IPType, "10.0.0.10/24", "without a mask"},
		"IPZone":            {IPType, "fe80::1%eth0", "or a zone"},
		"IPHuge":            {IPType, hugeText, `x"… is not an IP address`},
		"Prefix":            {PrefixType, "10.10.0.1/24", ""},
		"PrefixNone":        {PrefixType, "none", ""},
		"PrefixNull":        {PrefixType, nil, ""},
		"PrefixUnknown":     {PrefixType, tftypes.UnknownValue, ""},
		"PrefixEmpty":       {PrefixType, "", "not an address of a bridge"},
		"PrefixAuto":        {PrefixType, "auto", "not an address of a bridge"},
		"Subnet":            {SubnetType, "lan", ""},
		"SubnetCIDR":        {SubnetType, "10.0.0.0/24", ""},
		"SubnetSlash":       {SubnetType, "lab/dmz", ""},
		"SubnetAddress":     {SubnetType, "10.0.0.5", ""},
		"SubnetNull":        {SubnetType, nil, ""},
		"SubnetUnknown":     {SubnetType, tftypes.UnknownValue, ""},
		"SubnetEmpty":       {SubnetType, " ", "It is empty"},
		"SubnetPrefix":      {SubnetType, "10.0.0.0/33", ""},
		"SubnetHostBits":    {SubnetType, "10.0.0.5/24", ""},
		"SubnetHugeIsAName": {SubnetType, hugeText, ""},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			v := valueOf(t, tc.of, tc.text).(xattr.ValidateableAttribute)
			var resp xattr.ValidateAttributeResponse
			v.ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{Path: path.Root("a")}, &resp)
			got := ""
			if len(resp.Diagnostics) > 0 {
				got = resp.Diagnostics[0].Detail()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) || len(got) > 400 {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCanonicalText(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		ImageType.FromText("noble").Canonical():         "noble",
		AddressType.FromText("[FD00::0:5]").Canonical(): "https://[fd00::5]:8443",
		IPType.FromText("FD00:0::10").Canonical():       "fd00::10",
		PrefixType.FromText("FD42:0::1/64").Canonical(): "fd42::1/64",
		SubnetType.FromText("FD00:0::/64").Canonical():  "fd00::/64",
		SubnetType.FromText("FD00::5/64").Canonical():   "FD00::5/64",
		SubnetType.FromText("lan").Canonical():          "lan",
		Address{}.Canonical() + IP{}.Canonical() + "-":  "-",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestKeepSpelling: the framework does not compare spellings when it plans.
func TestKeepSpelling(t *testing.T) {
	t.Parallel()
	null, unknown := types.StringNull(), types.StringUnknown()
	text := types.StringValue
	cases := map[string]struct {
		reason                    string
		config, state, plan, want types.String
	}{
		"Same":    {"The plan keeps the spelling of the state, so nothing changes.", text("noble"), text("ubuntu/noble"), text("noble"), text("ubuntu/noble")},
		"Other":   {"Another image is a change.", text("jammy"), text("ubuntu/noble"), text("jammy"), text("jammy")},
		"Create":  {"A new object has no state whose spelling could be kept.", text("noble"), null, text("noble"), text("noble")},
		"Unknown": {"An unknown value may be another one.", unknown, text("ubuntu/noble"), unknown, unknown},
		"Removed": {"Another modifier decides about null.", null, text("ubuntu/noble"), null, null},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			resp := planmodifier.StringResponse{PlanValue: tc.plan}
			ImageType.KeepSpelling().PlanModifyString(context.Background(), planmodifier.StringRequest{
				ConfigValue: tc.config, StateValue: tc.state, PlanValue: tc.plan,
			}, &resp)
			if !resp.PlanValue.Equal(tc.want) {
				t.Errorf("%s\ngot %s, want %s", tc.reason, resp.PlanValue, tc.want)
			}
		})
	}
}
