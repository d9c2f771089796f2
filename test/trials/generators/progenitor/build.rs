//! Generates the client. progenitor does not support multipart/form-data, so the client has no `changeProfilePicture`.

use std::error::Error;
use std::{env, fs, path::Path};

use progenitor::{GenerationSettings, Generator, InterfaceStyle};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=openapi.yaml");
    let mut contract: serde_yaml::Value =
        serde_yaml::from_str(&fs::read_to_string("openapi.yaml")?)?;
    let removed = contract["paths"]["/api/profile/picture"]
        .as_mapping_mut()
        .and_then(|item| item.remove("put"));
    assert!(
        removed.is_some(),
        "changeProfilePicture is not in the contract"
    );
    let mut settings = GenerationSettings::default();
    settings.with_interface(InterfaceStyle::Positional);
    let tokens = Generator::new(&settings).generate_tokens(&serde_yaml::from_value(contract)?)?;
    let code = prettyplease::unparse(&syn::parse2(tokens)?);
    fs::write(Path::new(&env::var("OUT_DIR")?).join("client.rs"), code)?;
    Ok(())
}
