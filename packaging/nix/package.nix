# pisess for nixpkgs: `callPackage ./package.nix { }`. `commit` is what `pisess --version` names, if known.
{
  lib,
  rustPlatform,
  installShellFiles,
  commit ? null,
}:

let
  root = ../..;
  manifest = lib.importTOML (root + "/Cargo.toml");
  # What all crates of the workspace have in common.
  common = manifest.workspace.package;
in
rustPlatform.buildRustPackage {
  pname = manifest.package.name;
  inherit (common) version;
  src = lib.cleanSource root;
  cargoLock.lockFile = root + "/Cargo.lock";
  buildType = "dist";
  env = lib.optionalAttrs (commit != null) { PISESS_COMMIT = commit; };
  nativeBuildInputs = [ installShellFiles ];
  # The tests need a terminal and the shells, so .ci/run runs them.
  doCheck = false;
  postInstall = ''
    installManPage man/*.1
    installShellCompletion --bash --name pisess completions/pisess.bash
    installShellCompletion --zsh --name _pisess completions/_pisess
    installShellCompletion --fish --name pisess.fish completions/pisess.fish
    mkdir -p $out/share/pisess
    cp -r skills extensions $out/share/pisess
  '';
  meta = {
    inherit (manifest.package) description;
    homepage = common.repository;
    license = with lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "pisess";
    platforms = lib.platforms.unix;
  };
}
