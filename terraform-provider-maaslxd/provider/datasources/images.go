package datasources

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

var _ datasource.DataSourceWithConfigure = (*imagesSource)(nil)

// NewImagesSource makes the data source maaslxd_images.
func NewImagesSource() datasource.DataSource { return &imagesSource{} }

// imagesSource is the data source maaslxd_images.
type imagesSource struct{ backendSource }

type imagesModel struct {
	Architecture types.String `tfsdk:"architecture"`
	Images       []imageModel `tfsdk:"images"`
	Names        []string     `tfsdk:"names"`
	Default      *string      `tfsdk:"default"`
}

type imageModel struct {
	Name          string   `tfsdk:"name"`
	Architectures []string `tfsdk:"architectures"`
	Kernels       []string `tfsdk:"kernels"`
}

// Metadata names the data source.
func (s *imagesSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_images"
}

// Schema is the list of images.
func (s *imagesSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	texts := func(description string) schema.Attribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The images that MAAS can install. Their names and kernels are the values for `deploy.image` and `deploy.kernel`.",
		Attributes: map[string]schema.Attribute{
			"architecture": filterTextAttribute("Only images for this architecture, such as `amd64`."),
			"images": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The images, sorted by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name":          schema.StringAttribute{Computed: true, MarkdownDescription: "Name, such as `ubuntu/noble` or `custom/rocky-9`."},
					"architectures": texts("Architectures for which MAAS has it, such as `amd64`."),
					"kernels":       texts("Kernels that MAAS has for it, such as `ga-24.04`. Empty where MAAS does not report them."),
				}},
			},
			"names": texts("Names of the images, sorted."),
			"default": schema.StringAttribute{
				Computed: true, MarkdownDescription: "Name of the image that MAAS installs if `deploy.image` is not set. Null if MAAS has no such image.",
			},
		},
	}
}

// Read lists the images.
func (s *imagesSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m imagesModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	m.Images, m.Names = []imageModel{}, []string{}
	s.withBackend(ctx, "list the images", diags, func(ctx context.Context, b *client.Backend) error {
		images, err := b.Catalog.Images(ctx)
		if err != nil {
			return err
		}
		series, err := b.Catalog.DefaultImage(ctx)
		if err != nil {
			return err
		}
		m.fill(images, series)
		return nil
	})
	if !diags.HasError() {
		diags.Append(resp.State.Set(ctx, m)...)
	}
}

func (m *imagesModel) fill(images []engine.Image, series string) {
	for _, i := range images {
		if !m.Architecture.IsNull() && !slices.Contains(i.Architectures, m.Architecture.ValueString()) {
			continue
		}
		m.Images = append(m.Images, imageModel{Name: i.Name, Architectures: orEmptyList(i.Architectures), Kernels: orEmptyList(i.Kernels)})
		m.Names = append(m.Names, i.Name)
		if i.MatchesName(series) {
			m.Default = &i.Name
		}
	}
}
