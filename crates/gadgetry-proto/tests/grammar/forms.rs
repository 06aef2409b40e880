//! Choices and forms.
