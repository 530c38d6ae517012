# Evaluates a formula without Homebrew: ruby evaluate.rb FORMULA SOURCE BINARY PREFIX. Runs its `install` in
# SOURCE, with a `cargo install` that copies BINARY to PREFIX, then its `test`, and prints what it declares.
# Implements the methods of Homebrew's Formula that ours uses; any other is an error.

require "fileutils"
require "pathname"

FORMULA, SOURCE, BINARY, PREFIX = ARGV.map { |path| Pathname(File.expand_path(path)) }

class Folder < Pathname
  def install(*names)
    mkpath
    names.flatten.each do |name|
      from, to = name.is_a?(Hash) ? name.first : [name, File.basename(name)]
      FileUtils.cp_r(from, self + to)
    end
  end
end

class Formula
  FACTS = {}
  class << self
    %i[desc homepage url sha256 license].each do |fact|
      define_method(fact) { |value| FACTS[fact] = value }
    end

    def depends_on(dependency) = FACTS[:depends_on] = dependency

    def test(&block) = define_method(:run_test, &block)
  end

  { bin: "bin", man1: "share/man/man1", bash_completion: "etc/bash_completion.d",
    zsh_completion: "share/zsh/site-functions", fish_completion: "share/fish/vendor_completions.d",
    pkgshare: "share/pisess", testpath: "test" }.each do |name, path|
    define_method(name) { Folder.new(PREFIX + path) }
  end

  def std_cargo_args = ["--locked", "--root", PREFIX.to_s, "--path", "."]

  def version = FACTS[:url][/(\d+\.\d+\.\d+)\.crate\z/, 1]

  def system(*command)
    raise "unexpected #{command}" unless command == ["cargo", "install", "--profile=dist", *std_cargo_args] && File.exist?("Cargo.lock")
    bin.mkpath
    FileUtils.cp(BINARY, bin + "pisess")
  end

  def shell_output(command)
    output = `#{command}`
    raise "#{command} fails" unless $?.success?
    output
  end

  def assert_match(expected, actual)
    raise "#{expected} is not in #{actual}" unless actual.include?(expected)
  end
end

load FORMULA.to_s
Dir.chdir(SOURCE) { Pisess.new.install }
FileUtils.mkdir_p(PREFIX + "test")
Dir.chdir(PREFIX + "test") { Pisess.new.run_test }
Formula::FACTS.each { |fact, value| puts "#{fact}: #{value}" }
