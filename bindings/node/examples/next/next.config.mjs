// The package has a native part, which is required and not bundled.
export default { serverExternalPackages: ["gadgetry"] };
