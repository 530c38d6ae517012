# A stub of what our expressions use of nixpkgs: a build returns its own arguments.
let
  lib = {
    cleanSource = path: path;
    genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    importTOML = path: builtins.fromTOML (builtins.readFile path);
    licenses = {
      mit = "MIT";
      asl20 = "Apache-2.0";
    };
    optionalAttrs = condition: set: if condition then set else { };
    platforms.unix = [ "unix" ];
  };
  packages = {
    inherit lib callPackage;
    installShellFiles = "installShellFiles";
    rustPlatform.buildRustPackage = arguments: arguments;
  };
  callPackage =
    path: overrides:
    let
      build = import path;
      wanted = builtins.functionArgs build;
      given = packages // overrides;
    in
    build (builtins.intersectAttrs wanted given);
  outputs = (import ../../flake.nix).outputs {
    self.rev = "0123456789abcdef0123456789abcdef01234567";
    nixpkgs = {
      inherit lib;
      legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ] (_: packages);
    };
  };
in
{
  package = callPackage ./package.nix { };
  flake = builtins.mapAttrs (_: { default }: default) outputs.packages;
  overlay = (outputs.overlays.default packages { }).pisess;
}
