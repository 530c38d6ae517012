{
  description = "Read, search, rewind and share the conversations that pi and oh-my-pi save";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      package =
        system:
        nixpkgs.legacyPackages.${system}.callPackage ./packaging/nix/package.nix { commit = self.rev or null; };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = package system;
      });
      overlays.default = final: _previous: {
        pisess = final.callPackage ./packaging/nix/package.nix { };
      };
    };
}
